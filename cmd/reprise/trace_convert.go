package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/trace"
)

func newTraceConvert() *cobra.Command {
	var in traceFlags
	var out outputFlags
	redact := false
	cmd := &cobra.Command{
		Use:   "convert FILE...",
		Short: "Write a trace in another format",
		Long: `Write a trace in another format. Several files become one trace, in order of time.
Nothing is dropped silently: what the other format cannot say is refused.`,
		Example: `  reprise trace convert examples/mooncake.jsonl.gz --out native.jsonl.zst
  reprise trace convert native.jsonl.zst --to mooncake --out back.jsonl`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			writing, stop := whilePreparing(cmd.Context())
			defer stop()
			t, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			src, err := t.Tasks()
			if err != nil {
				return fail(err)
			}
			if redact {
				src = trace.Redact(src)
			}
			return out.write(writing(), cmd, t.Header(), src)
		},
	}
	in.add(cmd)
	out.add(cmd, trace.Native, "")
	cmd.Flags().BoolVar(&redact, "redact", false, "leave out messages, arguments and results of tools")
	return cmd
}

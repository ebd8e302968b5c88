package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/record"
)

func newRecordOTLP() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "otlp SPANS... --out FILE",
		Short: "Make a trace of OpenTelemetry spans about GenAI",
		Long: `Make a trace of OpenTelemetry spans that follow the GenAI conventions: calls of inferences
(chat, text_completion, generate_content), tool runs of execute_tool, sub-agents of invoke_agent.
SPANS are files of OTLP/JSON, as one value or as lines, or protobuf; - is standard input.

  reprise record otlp spans.json --out agent.jsonl.zst

Spans have no token ids: the trace has lengths, and what calls share is concluded from their
messages, if the spans have these. docs/record.md tells what is stated and what is inferred.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkOut(); err != nil {
				return err
			}
			result, err := record.FromSpans(args, f.out, f.redact)
			if err != nil {
				return err
			}
			f.tell(cmd.ErrOrStderr(), result)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the trace; .gz and .zst are compressed")
	flags.BoolVar(&f.redact, "redact", false, "keep no text: no messages, no arguments and results of tools")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file if it exists")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks")
	return cmd
}

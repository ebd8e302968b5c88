package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/explain"
)

func newExplain() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "explain RUN REQUEST-ID",
		Short: "Tell one routing decision of a run",
		Long: `Tell one routing decision of a run: when the request came, the buckets and instances
that could have taken it with all that was weighed, which one did and why, and what that
cost or saved. RUN is the folder of a run with a routing log, which a run writes unless
it is round robin in one bucket (output.routing_log: true: always). A request has the
name that the trace gives it, else that of its line: line:0 is the first one. See
docs/buckets.md.`,
		Example: `  reprise simulate examples/buckets/buckets.yaml --out run
  reprise explain run line:7
  reprise explain run line:7 --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, stop := whilePreparing(cmd.Context())
			defer stop()
			story, err := explain.Find(args[0], args[1])
			if err != nil {
				return err
			}
			if asJSON {
				return fail(printJSON(cmd.OutOrStdout(), story))
			}
			return fail(story.WriteText(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the line of the log and that of per_request.csv as JSON")
	return cmd
}

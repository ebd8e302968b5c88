package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/trace"
)

func newTraceValidate() *cobra.Command {
	var in traceFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check every row of a trace",
		Long: `Check every row of a trace. Bad rows are listed with their line, field, value and what
was expected, the first 20 of them; the exit code is 2 then.`,
		Example: `  reprise trace validate examples/mooncake.jsonl.gz
  reprise trace validate examples/sessions.jsonl --block-size 16`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, stop := whilePreparing(cmd.Context())
			defer stop()
			t, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			if asJSON {
				return fail(printJSON(cmd.OutOrStdout(), newTraceCheck(t)))
			}
			return fail(printCheck(cmd.OutOrStdout(), newTraceCheck(t)))
		},
	}
	in.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

// traceCheck is what checking a trace found.
type traceCheck struct {
	Files       []string       `json:"files"`
	Format      string         `json:"format"`
	Depth       string         `json:"depth"`
	BlockSize   int            `json:"block_size,omitempty"`
	Rows        int            `json:"rows"`
	LeftOut     map[string]int `json:"left_out,omitempty"` // rows by reason
	Tasks       int            `json:"tasks"`
	Calls       int            `json:"calls"`
	Untimed     int            `json:"untimed_tasks"`
	OutOfOrder  int            `json:"rows_out_of_order"`
	InputTokens int64          `json:"input_tokens"`
	Output      int64          `json:"output_tokens"`
	Notes       []string       `json:"notes,omitempty"`
}

func newTraceCheck(t trace.Trace) traceCheck {
	h, r := t.Header(), t.Report()
	c := traceCheck{
		Format: h.Format, Depth: h.Depth.String(), BlockSize: h.BlockSize,
		Rows: r.Rows, Tasks: r.Tasks, Calls: r.Calls, Untimed: r.Untimed, OutOfOrder: r.OutOfOrder,
		InputTokens: r.InputTokens, Output: r.OutputTokens, Notes: r.Notes,
	}
	for _, f := range r.Files {
		c.Files = append(c.Files, f.Path)
	}
	for _, l := range r.LeftOut {
		if c.LeftOut == nil {
			c.LeftOut = map[string]int{}
		}
		c.LeftOut[l.Reason] += l.Rows
	}
	return c
}

// printCheck prints the check for people.
func printCheck(w io.Writer, c traceCheck) error {
	for _, f := range c.Files {
		fmt.Fprintf(w, "%s: ok\n", f)
	}
	depth := c.Depth
	if c.BlockSize > 0 {
		depth = fmt.Sprintf("%s of %d tokens", depth, c.BlockSize)
	}
	fmt.Fprintf(w, "%s, content known by %s\n", c.Format, depth)
	fmt.Fprintf(w, "%s: %s, %s, %d input and %d output tokens\n",
		count(c.Rows, "row"), count(c.Tasks, "task"), count(c.Calls, "call"), c.InputTokens, c.Output)
	if c.Untimed > 0 {
		fmt.Fprintf(w, "%s without a time\n", count(c.Untimed, "task"))
	}
	if c.OutOfOrder > 0 {
		fmt.Fprintf(w, "%s out of order\n", count(c.OutOfOrder, "row"))
	}
	for _, reason := range sortedKeys(c.LeftOut) {
		fmt.Fprintf(w, "%s left out: %s\n", count(c.LeftOut[reason], "row"), reason)
	}
	for _, n := range c.Notes {
		fmt.Fprintln(w, n)
	}
	return nil
}

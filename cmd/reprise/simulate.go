package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
)

// simulateFlags are the flags of `reprise simulate`.
type simulateFlags struct {
	trace      []string
	out        string
	set        []string
	overwrite  bool
	unroutable string
	json       bool
	quiet      bool
}

func newSimulate() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate [CONFIG.yaml | run.json]",
		Short: "Replay a trace on simulated instances",
		Long: `Replay a trace on simulated instances and report latencies, throughput and cache use.

The configuration is a YAML file (every key has a default; see "reprise schema" and
docs/configuration.md), or the run.json of an earlier run, which is then repeated bit
for bit. Flags come after it: --trace, --out and --on-unroutable, then each --set from
left to right.
Files of the run are written only if --out or output.dir names a folder.

Ctrl-C ends the run: requests that are open then are reported as unfinished, and the
files are complete. A second Ctrl-C leaves no files, nor does one while the trace is
still being read.

Exit codes: 0 success, 1 the run failed, 2 bad command line, configuration or trace,
130 interrupted.`,
		Example: `  reprise simulate examples/mooncake.yaml
  reprise simulate examples/mooncake.yaml --set arrival.speedup=2 --out run
  reprise simulate run/run.json --out again
  reprise simulate --trace examples/mooncake.jsonl.gz --set limits.requests=100 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.trace, "trace", nil, "trace `FILE` to replay, in place of trace.path; again for several")
	flags.StringVar(&f.out, "out", "", "`DIR` for the files of the run, in place of output.dir")
	flags.StringArrayVar(&f.set, "set", nil, "set a key of the configuration, `key=value`; again for more")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the files of an earlier run in the folder")
	flags.StringVar(&f.unroutable, "on-unroutable", "", "requests that fit no bucket: refuse the trace or reject them, `refuse|reject`, in place of cluster.on_unroutable")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON")
	complete(cmd, "on-unroutable", oneOf("refuse", "reject"))
	complete(cmd, "set", settings(config.Defaults()))
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, no remarks")
	return cmd
}

func (f *simulateFlags) run(cmd *cobra.Command, args []string) error {
	sources := config.Sources{Trace: f.trace, Out: f.out, OnUnroutable: f.unroutable, Set: f.set}
	if len(args) == 1 {
		sources.File = args[0]
	}
	if f.out == "" && cmd.Flags().Changed("out") {
		return errors.New("--out: \"\": want a folder")
	}
	if f.unroutable == "" && cmd.Flags().Changed("on-unroutable") {
		return errors.New("--on-unroutable: \"\": want refuse or reject")
	}
	c, err := config.Load(sources)
	if err != nil {
		return err
	}
	var abort aborter
	ctx, stop := onInterrupt(cmd.Context(), &abort)
	defer stop()

	bar := newProgress(cmd.ErrOrStderr(), f.quiet)
	defer bar.stop()
	s, err := config.Prepare(ctx, c, config.Options{
		Tool: tool(), Overwrite: f.overwrite, Begun: abort.arm, Progress: bar.update,
	})
	if errors.Is(err, rundir.ErrHoldsRun) {
		return fmt.Errorf("%w: --overwrite", err)
	}
	if err != nil {
		return err
	}
	abort.running.Store(true)
	if !f.quiet {
		remark(cmd.ErrOrStderr(), s.Notes()...)
	}
	result, err := s.Run(ctx)
	bar.stop()
	if err != nil {
		return fail(err)
	}
	return f.print(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), result)
}

// print prints a result.
func (f *simulateFlags) print(ctx context.Context, stdout, stderr io.Writer, r *config.Result) error {
	if err := printSummary(stdout, r, f.json); err != nil {
		return fail(err)
	}
	if r.Dir != "" && !f.quiet {
		remark(stderr, fmt.Sprintf("files of the run: %s (repeat it: reprise simulate %s)", r.Dir, filepath.Join(r.Dir, rundir.InfoFile)))
	}
	if r.Info.Interrupted {
		remark(stderr, "interrupted: the figures are those of what was done by then")
		return errInterrupted
	}
	if ctx.Err() != nil { // too late to change anything
		return errInterrupted
	}
	return nil
}

// printSummary prints the figures of a run.
func printSummary(w io.Writer, r *config.Result, asJSON bool) error {
	if asJSON {
		return printJSON(w, r.Summary)
	}
	if err := metrics.WriteTable(w, r.Summary); err != nil {
		return err
	}
	headline := "Not a hardware prediction: this latency model stands for no GPU."
	if r.Info.LatencySource != "" {
		headline = "Predicts " + r.Info.LatencySource + "."
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(text.WrapSoft(headline, metrics.TableWidth)) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// remark tells something to a person.
func remark(w io.Writer, lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(w, "reprise: %s\n", line)
	}
}

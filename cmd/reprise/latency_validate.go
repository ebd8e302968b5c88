package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/accuracy"
)

// validateFlags are the flags of `reprise latency validate`.
type validateFlags struct {
	data        []string
	source      string
	calibration string
	groups      bool
	json        bool
	quiet       bool
}

func newLatencyValidate() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Compare the roofline with measured serving runs, passes and block counts",
		Long: `Run measured configurations again on simulated instances and report how far the
roofline is off: number of figures, mean and median of the absolute errors, their 90th
percentile and the mean of the signed errors, all in percent. Dense models and mixtures of
experts, levels of trust, and metrics are never mixed. What cannot be compared is counted by reason.

Without --data the measurements that come with the program are used (docs/accuracy.md).`,
		Example: `  reprise latency validate --source blis-kv-blocks
  reprise latency validate --source trtllm-performance-v0.6 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.data, "data", nil, "`FILE.csv` of measured values, plain or gzip; again for more")
	flags.StringVar(&f.source, "source", "", "only values of this `SOURCE`")
	flags.StringVar(&f.calibration, "calibration", "auto", "weigh the parts of a pass as measured runs say: auto or `off`")
	flags.BoolVar(&f.groups, "groups", false, "also by engine, model and GPU")
	flags.BoolVar(&f.json, "json", false, "print it as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command) error {
	if f.calibration != "auto" && f.calibration != "off" {
		return fmt.Errorf("--calibration %s: want auto or off", f.calibration)
	}
	cases, err := f.cases()
	if err != nil {
		return err
	}
	var nothing aborter
	ctx, stop := onInterrupt(cmd.Context(), &nothing)
	defer stop()
	bar := newProgress(cmd.ErrOrStderr(), f.quiet)
	defer bar.stop()
	outcomes, err := accuracy.Predict(ctx, cases, accuracy.Options{Calibrated: f.calibration == "auto", Progress: bar.update})
	bar.stop()
	if err != nil {
		return err
	}
	report := accuracy.Summarize(outcomes)
	if f.json {
		return fail(printJSON(cmd.OutOrStdout(), report))
	}
	return fail(f.print(cmd.OutOrStdout(), report))
}

// cases are the measured cases that the flags name.
func (f *validateFlags) cases() ([]*accuracy.Case, error) {
	var cases []*accuracy.Case
	for _, path := range f.data {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		more, err := accuracy.Read(path, file)
		file.Close()
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	if f.data == nil {
		bundled, err := accuracy.Bundled()
		if err != nil {
			return nil, err
		}
		cases = bundled
	}
	if f.source == "" {
		return cases, nil
	}
	var chosen []*accuracy.Case
	for _, c := range cases {
		if c.Source == f.source {
			chosen = append(chosen, c)
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("--source %s: no such source in the data", f.source)
	}
	return chosen, nil
}

// print prints a report for people.
func (f *validateFlags) print(w io.Writer, r *accuracy.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "figures\tMAPE\tmedian\tP90\tbias\tkind\ttrust\tmetric\tsource\t ")
	line := func(g *accuracy.Group, more string) {
		kind := "dense"
		if g.Experts {
			kind = "experts"
		}
		e := &g.Errors
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.1f\t%+.1f\t%s\t%s\t%s\t%s\t %s\n", e.Count, e.MAPE, e.Median, e.P90, e.Bias, kind, g.Trust, g.Metric, g.Source, more)
	}
	for i := range r.Totals {
		line(&r.Totals[i], "")
	}
	if f.groups {
		fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t")
		for i := range r.Groups {
			g := &r.Groups[i]
			line(g, fmt.Sprintf("%s %s %s", g.Engine, g.Model, g.GPU))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range r.LeftOut {
		if _, err := fmt.Fprintf(w, "left out: %d figures: %s\n", l.Figures, l.Reason); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/trace/stats"
)

// infoFlags are the flags of `reprise trace info`.
type infoFlags struct {
	in     traceFlags
	caches []int
	json   bool
}

func newTraceInfo() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:   "info FILE...",
		Short: "Show what is in a trace",
		Long: `Show what is in a trace: counts, lengths, turns and pauses, the offered rate over time,
and how much of the prompts is shared: what an unlimited cache and LRU caches of some
sizes would hit, in the order of the trace. A block is a hit if it and all blocks
before it are in the cache. Nothing is simulated.`,
		Example: `  reprise trace info examples/mooncake.jsonl.gz
  reprise trace info examples/sessions.jsonl --block-size 16 --cache-blocks 10,100 --json`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.in.add(cmd)
	cmd.Flags().IntSliceVar(&f.caches, "cache-blocks", stats.DefaultCacheBlocks, "sizes of caches to look at, in `blocks` of the trace")
	cmd.Flags().BoolVar(&f.json, "json", false, "print it as JSON")
	return cmd
}

func (f *infoFlags) run(cmd *cobra.Command, args []string) error {
	for _, n := range f.caches {
		if n < 1 {
			return fmt.Errorf("--cache-blocks: %d: want sizes above 0", n)
		}
	}
	_, stop := whilePreparing(cmd.Context())
	defer stop()
	t, err := f.in.open(cmd, args)
	if err != nil {
		return err
	}
	s, err := stats.Of(t, stats.Options{CacheBlocks: f.caches})
	if err != nil {
		return fail(err)
	}
	if f.json {
		return fail(printJSON(cmd.OutOrStdout(), s))
	}
	w := cmd.OutOrStdout()
	if err := printCheck(w, newTraceCheck(t)); err != nil {
		return fail(err)
	}
	return fail(printStats(w, s))
}

// barWidth is how wide the longest bar of a histogram is.
const barWidth = 40

// printStats prints the figures of a trace for people.
func printStats(w io.Writer, s *stats.Stats) error {
	var b strings.Builder
	for _, h := range []struct {
		title string
		d     *stats.Distribution
	}{{"prompt tokens", s.Input}, {"output tokens", s.Output}} {
		if h.d != nil {
			fmt.Fprintf(&b, "\n%s\n%s", h.title, h.d.Bars(barWidth))
		}
	}
	if r := s.Rate; r != nil {
		fmt.Fprintf(&b, "\ntasks per second over the %d windows of %s s: mean %.4g, peak %.4g at %s s\n|%s|\n",
			len(r.PerS), seconds(r.WindowMs), r.Mean, r.Peak, seconds(r.PeakAtMs), r.Spark())
	}
	b.WriteString("\n")
	printDistributions(&b, s)
	if s.Sharing != nil {
		b.WriteString("\n")
		printSharing(&b, s.Sharing)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printDistributions prints a table of distributions.
func printDistributions(w io.Writer, s *stats.Stats) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmean\tmin\tp50\tp90\tp95\tp99\tmax\tsamples\t")
	for _, row := range []struct {
		name string
		d    *stats.Distribution
	}{
		{"prompt tokens", s.Input}, {"output tokens", s.Output}, {"calls of a task", s.Turns}, {"ms between tasks", s.Gaps},
		{"ms of a pause", s.Pauses}, {"ms of a tool", s.Tool}, {"ms of a wait", s.Wait},
	} {
		if d := row.d; d != nil {
			fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", row.name, d.Mean,
				number(d.Min), number(d.Median), number(d.P90), number(d.P95), number(d.P99), number(d.Max), d.Count)
		}
	}
	t.Flush()
}

// printSharing prints what caches would hit.
func printSharing(w io.Writer, s *stats.Sharing) {
	fmt.Fprintf(w, "%d blocks of %d tokens in all prompts, %d distinct\n", s.Blocks, s.BlockSize, s.Distinct)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "LRU cache of\thits\tof all blocks\t")
	for _, c := range s.Caches {
		fmt.Fprintf(t, "%d blocks\t%d\t%.2f %%\t\n", c.Blocks, c.Hits, 100*c.HitRate)
	}
	fmt.Fprintf(t, "no limit\t%d\t%.2f %%\t\n", s.Hits, 100*s.HitRate)
	t.Flush()
}

// seconds is a time in ms as seconds, number a number as people write it.
func seconds(ms float64) string { return number(ms / 1000) }
func number(v float64) string   { return fmt.Sprintf("%.6g", v) }

package metrics

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// TableWidth is the widest line of a report, in columns.
const TableWidth = 100

// WriteTable writes a summary for people: latencies, how each bucket did if there
// are several, then what else matters, at most 100 columns wide.
func WriteTable(w io.Writer, s *Summary) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n%s\n", latencyTable(&s.Latencies), bucketTables(s), factTable(s))
	return err
}

// latencyTable has a row for each latency.
func latencyTable(l *Latencies) string {
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	t.AppendHeader(table.Row{"ms", "mean", "p50", "p90", "p95", "p99", "max", "samples"})
	for _, row := range []struct {
		name string
		d    *Distribution
	}{
		{"TTFT  time to first token", &l.TTFT},
		{"TPOT  time per output token", &l.TPOT},
		{"ITL   gap between tokens", &l.ITL},
		{"E2E   time to last token", &l.E2E},
	} {
		d := row.d
		t.AppendRow(table.Row{row.name, figure(d.Mean), figure(d.Median), figure(d.P90), figure(d.P95), figure(d.P99), figure(d.Max), d.N})
	}
	var columns []table.ColumnConfig
	for i := 2; i <= 8; i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return render(t)
}

// factTable has a row for everything else.
func factTable(s *Summary) string {
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	for _, f := range facts(s) {
		t.AppendRow(table.Row{f[0], f[1]})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: TableWidth - 16, WidthMaxEnforcer: text.WrapSoft}})
	return render(t)
}

// render is a table without blanks at the ends of lines.
func render(t table.Writer) string {
	lines := strings.Split(t.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// facts are names and sentences.
func facts(s *Summary) [][2]string {
	facts := [][2]string{
		{"requests", accountLine(&s.Accounting)},
		{"throughput", fmt.Sprintf("%s requests/s, %s input and %s output tokens/s, over %s s",
			figure(s.RequestRate), figure(s.InputRate), figure(s.OutputRate), figure(s.DurationMs/1000))},
	}
	if g := s.Goodput; g != nil {
		facts = append(facts, [2]string{"goodput", fmt.Sprintf("%d requests within %s: %s requests/s, %s output tokens/s",
			g.Completed, g.SLA, figure(g.RequestRate), figure(g.OutputRate))})
	}
	facts = append(facts,
		[2]string{"prefix reuse", fmt.Sprintf("%s %% of input tokens, %s %% at first admission", figure(100*s.ReuseRatio), figure(100*s.FirstReuse))})
	if tiers := tierLine(s.PerBucket); tiers != "" {
		facts = append(facts, [2]string{"cache tiers", tiers})
	}
	return append(facts,
		[2]string{"preemptions", fmt.Sprint(s.Preemptions)},
		[2]string{"saturated", saturationLine(&s.Saturation)},
		[2]string{"priced by", s.LatencyModel})
}

// accountLine says where the requests are.
func accountLine(a *Accounting) string {
	line := fmt.Sprintf("%d in the trace, %d offered: ", a.InTrace, a.Offered)
	var ends []string
	for _, end := range []struct {
		kind string
		n    int64
	}{
		{Completed.String(), a.Completed}, {Rejected.String(), a.Rejected}, {Failed.String(), a.Failed},
		{Cancelled.String(), a.Cancelled}, {Unfinished.String(), a.Unfinished},
	} {
		if end.n > 0 || end.kind == Completed.String() {
			ends = append(ends, fmt.Sprintf("%d %s%s", end.n, end.kind, reasonList(a.Reasons[end.kind])))
		}
	}
	line += strings.Join(ends, ", ")
	if a.NotReleased > 0 {
		line += fmt.Sprintf("; %d not released%s", a.NotReleased, reasonList(a.Reasons[notReleased]))
	}
	return line
}

// reasonList is reasons in brackets, the most frequent first.
func reasonList(reasons map[Reason]int64) string {
	if len(reasons) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, reasons[name])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// saturationLine says whether too much load was offered.
func saturationLine(s *Saturation) string {
	switch {
	case s.State == nil:
		return "cannot be said: " + s.Reason
	case *s.State:
		return fmt.Sprintf("yes, more load was offered than could be served: %s, %s %% of later arrivals piled up", s.Reason, figure(100*s.Growth))
	}
	return "no: " + s.Reason
}

// String is the bounds of an SLA.
func (s SLA) String() string {
	var bounds []string
	for _, b := range []struct {
		name  string
		bound *float64
	}{{"TTFT", s.TTFTMs}, {"ITL", s.ITLMs}, {"E2E", s.E2EMs}} {
		if b.bound != nil {
			bounds = append(bounds, fmt.Sprintf("%s ≤ %v ms", b.name, *b.bound))
		}
	}
	return strings.Join(bounds, " and ")
}

// figure is a number with about four digits, a dash where it is undefined.
func figure(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 1e9:
		return fmt.Sprintf("%.3e", v)
	case math.Abs(v) >= 1000:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// plainStyle is a table without a frame.
func plainStyle() table.Style {
	s := table.StyleDefault
	s.Name = "plain"
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	return s
}

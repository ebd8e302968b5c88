package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStories plays the files of testdata/story: what happens to requests on one
// instance, and what the rows say of it.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/story", func(t *testing.T, path string) {
		s := &story{rows: map[string]int32{}}
		s.ledger.KeepTokens = true
		datadriven.RunTest(t, path, s.command)
	})
}

type story struct {
	ledger Ledger
	log    PassLog
	gaps   Gaps
	rows   map[string]int32
}

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	row := func() *Row {
		var id string
		d.ScanArgs(t, "id", &id)
		return s.ledger.Row(s.rows[id])
	}
	switch d.Cmd {
	// arrive id=a at=0 input=10 output=3
	// A request is offered. Prints its row number.
	case "arrive":
		return s.arrive(t, d)

	// admit id=a at=1.5 cached=4
	case "admit":
		var at float64
		var cached int32
		d.ScanArgs(t, "at", &at)
		d.ScanArgs(t, "cached", &cached)
		row().Admit(at, cached)

	// passes ends=(10,12,14) continued=(0,1,1)
	// Passes end at these times; so many tokens of each followed one of the pass
	// before it. Prints how many passes have been logged.
	case "passes":
		return s.passes(t, d)

	// extend from=14 by=2 n=2000 continued=1
	// n passes, each by ms long, that continue the same number of tokens.
	case "extend":
		return s.extend(t, d)

	// first id=a pass=0
	// The first token came in this pass.
	case "first":
		var pass int
		d.ScanArgs(t, "pass", &pass)
		row().First(pass, &s.log)

	// tokens id=a from=0 n=3
	// n tokens, one a pass.
	case "tokens":
		var from int
		var n int32
		d.ScanArgs(t, "from", &from)
		d.ScanArgs(t, "n", &n)
		row().Tokens(from, n)

	// end id=a at=14 status=completed [reason=time_cap]
	// Prints the row.
	case "end":
		r := row()
		s.end(t, d, r)
		return describeRow(r)

	// fold [all]
	// Prints how many passes are still in the log and how many gaps have been
	// counted.
	case "fold":
		s.log.Fold(&s.gaps, d.HasArg("all"))
		return fmt.Sprintf("log %d..%d, %d gaps of %v ms on average\n", s.log.base, s.log.n, s.gaps.Moments().N, s.gaps.Moments().Mean)

	// hand-out
	// Prints the rows that come out, and those that are open.
	case "hand-out":
		return s.handOut()

	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

func (s *story) handOut() string {
	var b strings.Builder
	s.ledger.HandOut(func(n int32, r *Row) { fmt.Fprintf(&b, "%d %s %s\n", n, r.Request, r.Status) })
	s.ledger.OpenRows(func(n int32, r *Row) { fmt.Fprintf(&b, "%d %s still open\n", n, r.Request) })
	return b.String()
}

func (s *story) arrive(t *testing.T, d *datadriven.TestData) string {
	var id string
	var at float64
	var input, output int32
	d.ScanArgs(t, "id", &id)
	d.ScanArgs(t, "at", &at)
	d.ScanArgs(t, "input", &input)
	d.ScanArgs(t, "output", &output)
	n := s.ledger.Open(Label{Request: id}, at, input, output)
	s.rows[id] = n
	s.ledger.Row(n).SubmitMs = at
	return fmt.Sprintln("row", n)
}

func (s *story) passes(t *testing.T, d *datadriven.TestData) string {
	args := map[string][]string{}
	for _, arg := range d.CmdArgs {
		args[arg.Key] = arg.Vals
	}
	for i, end := range args["ends"] {
		s.log.Append(number64(t, end), int32(number64(t, args["continued"][i])))
	}
	return fmt.Sprintln(s.log.Len())
}

func (s *story) extend(t *testing.T, d *datadriven.TestData) string {
	var from, by float64
	var n, continued int
	d.ScanArgs(t, "from", &from)
	d.ScanArgs(t, "by", &by)
	d.ScanArgs(t, "n", &n)
	d.ScanArgs(t, "continued", &continued)
	ends := make([]float64, n)
	for i := range ends {
		ends[i] = from + by*float64(i+1)
	}
	s.log.Extend(ends, int32(continued))
	return fmt.Sprintln(s.log.Len())
}

func (s *story) end(t *testing.T, d *datadriven.TestData, r *Row) {
	var at float64
	var name, reason string
	d.ScanArgs(t, "at", &at)
	d.ScanArgs(t, "status", &name)
	d.MaybeScanArgs(t, "reason", &reason)
	status, ok := ParseStatus(name)
	if !ok {
		t.Fatalf("no status %s", name)
	}
	r.End(status, reason, at, &s.log, &s.gaps, s.ledger.KeepTokens)
}

// describeRow is what a row says once it has ended.
func describeRow(r *Row) string {
	times := fmt.Sprint(r.TokenMs)
	if len(r.TokenMs) > 8 {
		times = fmt.Sprintf("%d times", len(r.TokenMs))
	}
	return fmt.Sprintf("%s at %v: %d of %d tokens %s\nqueue %v, prefill %v, ttft %v, ttst %v, tpot %v, e2e %v\n",
		strings.TrimSpace(r.Status.String()+" "+r.Reason), r.EndMs, r.OutputTokens, r.RequestedTokens, times,
		r.QueueMs(), r.PrefillMs(), r.TTFTMs(), r.TTSTMs(), r.TPOTMs(), r.E2EMs()) +
		fmt.Sprintf("cached %d at first, %d at most, %d admissions\n", r.CachedTokens, r.CachedMax, r.Admissions)
}

func number64(t *testing.T, text string) (v float64) {
	if _, err := fmt.Sscan(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

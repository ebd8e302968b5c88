package paged_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// player runs the rank of a story on a clock: passes follow one another without a
// gap, up to Depth of them are decided ahead (spec/vllm-real.md 13).
type player struct {
	*story
	model  latency.Model
	limit  int // passes at most
	first  int // number of the first pass of the run
	rows   []passRow
	endMs  float64 // of the last decided pass
	sealed bool    // an empty step stands in the queue, behind the pass in flight
	since  []engine.Event
}

// passRow is a pass in the table.
type passRow struct {
	startMs, endMs float64
	tokens         []string
	decided        []engine.Event
	cost           latency.Pass
	load           engine.Load
}

func (s *story) run(t *testing.T, td *datadriven.TestData) string {
	if s.flight > 0 {
		td.Fatalf(t, "%d passes are in flight, and nobody knows when they end", s.flight)
	}
	p := &player{story: s, limit: 1000, endMs: s.clockMs, first: -1}
	td.MaybeScanArgs(t, "passes", &p.limit)
	settings := latency.Defaults()
	var kind string
	td.ScanArgs(t, "model", &kind)
	if prices, fixed := strings.CutPrefix(kind, "fixed:"); fixed {
		settings.Model, settings.PrefillMs, settings.DecodeMs = "fixed", new(float64), new(float64)
		if _, err := fmt.Sscanf(prices, "%g,%g", settings.PrefillMs, settings.DecodeMs); err != nil {
			td.Fatalf(t, "%q: want fixed:PREFILL,DECODE", kind)
		}
	}
	td.MaybeScanArgs(t, "speedup", &settings.Speedup)
	td.MaybeScanArgs(t, "decode_speedup", &settings.DecodeSpeedup)
	var err error
	if p.model, err = latency.New(settings); err != nil {
		td.Fatalf(t, "%v", err)
	}
	if err := p.play(); err != nil {
		td.Fatalf(t, "%v", err)
	}
	return p.table()
}

// play goes on until nothing happens by itself.
func (p *player) play() error {
	for {
		for len(p.inbox) > 0 && p.inbox[0].atMs <= p.clockMs {
			p.rank.Submit(&p.inbox[0].request)
			p.inbox = p.inbox[1:]
		}
		for !p.sealed && p.flight < p.rank.Depth() && len(p.rows) < p.limit {
			if again, err := p.decide(); err != nil {
				return err
			} else if !again {
				break
			}
		}
		switch {
		case p.flight > 0:
			p.end()
		case len(p.rows) < p.limit && len(p.inbox) > 0:
			p.clockMs, p.sealed = p.inbox[0].atMs, false
		default:
			return nil
		}
	}
}

// decide decides a pass, and is false if there is none.
func (p *player) decide() (bool, error) {
	var pass engine.Pass
	p.fx.Events = p.fx.Events[:0]
	d := p.rank.Schedule(&pass, &p.fx)
	for _, e := range p.fx.Events {
		if e.Kind == engine.Admitted || e.Kind == engine.Preempted {
			p.since = append(p.since, e)
		}
	}
	if d != engine.Decided {
		p.sealed = p.flight > 0
		return d == engine.Changed, nil
	}
	if p.first < 0 {
		p.first = pass.Index
	}
	cost, err := p.model.Cost(&pass.Cost)
	if err != nil {
		return false, err
	}
	r := passRow{startMs: max(p.clockMs, p.endMs), decided: p.since, cost: pass.Cost}
	r.endMs = r.startMs + cost.PrefillMs
	r.endMs += cost.DecodeMs
	for _, sh := range p.rank.Shares(nil) {
		if sh.Yields {
			r.tokens = append(r.tokens, p.names[sh.Row])
		}
	}
	p.rows, p.endMs, p.since = append(p.rows, r), r.endMs, nil
	p.flight++
	return true, nil
}

// end completes the oldest pass at its end.
func (p *player) end() {
	r := &p.rows[len(p.rows)-p.flight]
	p.clockMs, p.sealed = r.endMs, false
	p.fx.Events = p.fx.Events[:0]
	p.rank.Complete(1, &p.fx)
	p.flight--
	for _, e := range p.fx.Events {
		switch e.Kind {
		case engine.Finished:
			name := p.names[e.Row]
			i := slices.Index(r.tokens, name)
			if i < 0 { // it asked for none
				r.tokens = append(r.tokens, name+"*")
			} else {
				r.tokens[i] += "*"
			}
		case engine.Rejected:
			r.decided = append(r.decided, e)
		}
	}
	r.load = p.rank.Load()
}

// table tells the passes, and whoever is left for ever.
func (p *player) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pass\tstart\tend\ttokens\tdecided\tblocks\tprefill\tdecode")
	for i, r := range p.rows {
		fmt.Fprintf(w, "%d\t%v\t%v\t%s\t%s\t%d/%d\t%s\t%s\n", p.first+i, r.startMs, r.endMs, strings.Join(r.tokens, " "), p.happened(r.decided),
			r.load.BlocksUsed, r.load.BlocksCached, prefill(&r.cost), decode(&r.cost))
	}
	w.Flush()
	if len(p.since) > 0 {
		fmt.Fprintf(&b, "then %s\n", p.happened(p.since))
	}
	if row, reason, ok := p.rank.Stuck(); ok && len(p.rows) < p.limit {
		fmt.Fprintf(&b, "%s waits for ever: %s\n", p.names[row], reason)
	}
	return b.String()
}

// happened tells events in groups: "admits A(0) B(8), preempts C".
func (p *player) happened(events []engine.Event) string {
	var groups []string
	last := ""
	for i := range events {
		e := &events[i]
		verb, what := "", p.names[e.Row]
		switch e.Kind {
		case engine.Admitted:
			verb, what = "admits", fmt.Sprintf("%s(%d)", what, e.N)
			if e.Again {
				verb = "readmits"
			}
		case engine.Preempted:
			verb = "preempts"
		case engine.Rejected:
			verb, what = "rejects", fmt.Sprintf("%s (%s)", what, e.Reason)
		}
		if verb == last {
			groups[len(groups)-1] += " " + what
			continue
		}
		groups, last = append(groups, verb+" "+what), verb
	}
	return strings.Join(groups, ", ")
}

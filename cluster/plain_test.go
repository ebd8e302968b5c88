package cluster

import (
	"math"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/metrics"
)

// plain is the test double of Instance: a clock that goes from one pass end to the
// next, decides each pass by itself and applies each result by itself, in the order
// of spec/vllm-real.md 13. It has no plan and cannot be looked at.
type plain struct {
	t     *rapid.T
	world *world
	rank  *paged.Rank
	rows  []plainRow
	left  []call
	ends  []float64 // of passes
	done  int       // passes complete

	nowMs  float64
	sealed bool // an empty step stands behind the pass in flight
	fx     engine.Effects
}

// plainRow is what the double knows of a request.
type plainRow struct {
	status      metrics.Status
	admitMs     float64
	endMs       float64
	tokenMs     []float64
	preemptions int32
	cached      int32
}

func (w *world) plain(t *rapid.T) *plain {
	p := &plain{t: t, world: w, rank: paged.New(&w.settings), rows: make([]plainRow, len(w.calls)), left: w.calls}
	for i := range p.rows {
		p.rows[i].admitMs = math.NaN()
	}
	return p
}

// run goes on until nothing happens any more.
func (p *plain) run() {
	for range 1 << 16 {
		p.arrive()
		for !p.sealed && len(p.ends)-p.done < p.rank.Depth() && p.decide() {
		}
		switch {
		case p.done < len(p.ends):
			p.complete()
		case p.unstick():
		case len(p.left) > 0:
			p.nowMs = p.left[0].atMs
		default:
			return
		}
	}
	p.t.Fatal("it does not come to an end")
}

func (p *plain) arrive() {
	for len(p.left) > 0 && p.left[0].atMs <= p.nowMs {
		c := p.left[0]
		p.left = p.left[1:]
		if p.rank.Refuse(&c.request) != "" {
			p.end(c.request.Row, metrics.Rejected, c.atMs)
			continue
		}
		p.rank.Submit(&c.request)
	}
}

func (p *plain) end(row int32, s metrics.Status, atMs float64) {
	p.rows[row].status, p.rows[row].endMs = s, atMs
}

// decide decides one pass; it is false if there is none.
func (p *plain) decide() bool {
	var pass engine.Pass
	p.fx.Events = p.fx.Events[:0]
	d := p.rank.Schedule(&pass, &p.fx)
	for _, e := range p.fx.Events {
		r := &p.rows[e.Row]
		switch e.Kind {
		case engine.Admitted:
			if !e.Again {
				r.admitMs, r.cached = p.nowMs, e.N
			}
		case engine.Preempted:
			r.preemptions++
		}
	}
	if d != engine.Decided {
		p.sealed = p.done < len(p.ends)
		return d == engine.Changed
	}
	cost, err := p.world.model.Cost(&pass.Cost)
	if err != nil {
		p.t.Fatal(err)
	}
	end := p.nowMs
	if n := len(p.ends); n > 0 {
		end = max(end, p.ends[n-1])
	}
	end += cost.PrefillMs
	end += cost.DecodeMs
	end += p.world.hostMs
	p.ends = append(p.ends, end)
	for _, sh := range p.rank.Shares(nil) {
		if sh.Yields {
			p.rows[sh.Row].tokenMs = append(p.rows[sh.Row].tokenMs, end)
		}
	}
	return true
}

// complete waits for the end of the oldest pass.
func (p *plain) complete() {
	p.nowMs, p.sealed = p.ends[p.done], false
	p.done++
	p.fx.Events = p.fx.Events[:0]
	p.rank.Complete(1, &p.fx)
	for _, e := range p.fx.Events {
		switch e.Kind {
		case engine.Finished:
			p.end(e.Row, metrics.Completed, p.nowMs)
		case engine.Rejected:
			p.end(e.Row, metrics.Rejected, p.nowMs)
		}
	}
}

// unstick ends who can never be admitted.
func (p *plain) unstick() bool {
	row, _, ok := p.rank.Stuck()
	if !ok {
		return false
	}
	p.fx.Events = p.fx.Events[:0]
	p.rank.Cancel(row, &p.fx)
	p.end(row, metrics.Failed, p.nowMs)
	return true
}

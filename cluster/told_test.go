package cluster

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// serve lets a cluster serve the calls of a world.
func (w *world) serve(t *rapid.T, n int, p routing.Placement) *metrics.Ledger {
	ledger := &metrics.Ledger{}
	var instances []*Instance
	for i := range n {
		instances = append(instances, w.instance(int32(i), ledger))
	}
	c, left := New(instances, p), w.calls
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1 << 16 {
		now := c.NextMs()
		if len(left) > 0 {
			now = min(now, left[0].atMs)
		}
		if math.IsInf(now, 1) {
			return ledger
		}
		must(c.Settle(now, func(Ended) {}))
		for len(left) > 0 && left[0].atMs <= now {
			r := &left[0].request
			ledger.Open(metrics.Label{Request: r.ID}, now, r.InputTokens, r.MaxTokens)
			must(c.Place(&routing.Request{Row: r.Row, InputTokens: r.InputTokens, Rank: -1}, r, now))
			left = left[1:]
		}
		must(c.Start(now))
	}
	t.Fatal("it does not come to an end")
	return nil
}

// What a placement wants to be told it is told at the instant at which it happens,
// though instances run ahead of each other.
func TestEffectsAreToldAtTheirInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWorld(t), &gossip{}
		ledger := w.serve(t, rapid.IntRange(1, 3).Draw(t, "instances"), p)
		count := map[engine.Kind][]int32{}
		for _, kind := range []engine.Kind{engine.Admitted, engine.First, engine.Finished} {
			count[kind] = make([]int32, ledger.Len())
		}
		before := 0.0
		for _, n := range p.heard {
			row := ledger.Row(n.Row)
			happened := map[engine.Kind]float64{engine.Admitted: row.AdmitMs, engine.First: row.FirstMs, engine.Finished: row.EndMs}[n.Kind]
			count[n.Kind][n.Row]++
			switch {
			case n.atMs < before:
				t.Fatalf("told at %v after %v", n.atMs, before)
			case n.Target != row.Instance:
				t.Fatalf("row %d is on instance %d, not on %d", n.Row, row.Instance, n.Target)
			case n.Kind != engine.Admitted && n.atMs != happened:
				t.Fatalf("row %d: kind %d happened at %v and is told at %v", n.Row, n.Kind, happened, n.atMs)
			case n.atMs < happened:
				t.Fatalf("row %d: admitted at %v, told at %v", n.Row, happened, n.atMs)
			}
			before = n.atMs
		}
		for n := range count[engine.Admitted] {
			row, firsts := ledger.Row(int32(n)), int32(0)
			if row.OutputTokens > 0 {
				firsts = 1
			}
			if count[engine.Admitted][n] != row.Admissions || count[engine.First][n] != firsts || count[engine.Finished][n] != 1 {
				t.Fatalf("row %d with %d admissions and %d tokens: told %v", n, row.Admissions, row.OutputTokens, count)
			}
		}
	})
}

// A placement that keeps requests until a target is idle never has two on one, and
// everything it keeps is served.
func TestKeptRequestsAreServedInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.keepServable()
		instances := rapid.IntRange(1, 3).Draw(t, "instances")
		ledger := w.serve(t, instances, doubles["one_each"]())
		busyUntil := make([]float64, instances)
		for n := range int32(ledger.Len()) {
			r := ledger.Row(n)
			if r.Status == metrics.Open {
				t.Fatalf("row %d is left", n)
			}
			if r.SubmitMs < busyUntil[r.Instance] {
				t.Fatalf("row %d is sent at %v to instance %d, which is busy until %v", n, r.SubmitMs, r.Instance, busyUntil[r.Instance])
			}
			busyUntil[r.Instance] = r.EndMs
		}
	})
}

// keepServable leaves out calls that the front end refuses.
func (w *world) keepServable() {
	rank := paged.New(&w.settings)
	w.calls = slices.DeleteFunc(w.calls, func(c call) bool { return rank.Refuse(&c.request) != "" })
	for i := range w.calls {
		w.calls[i].request.Row = int32(i)
	}
}

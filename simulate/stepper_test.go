package simulate_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/workload"
)

// stepped is a scene whose calls are offered from outside.
type stepped struct {
	*simulate.Stepper
	ended outcome
	heard map[int32][]float64
	ends  map[int32]metrics.Status
	late  string // news that came before its time
}

func (s scene) stepper(t must) *stepped {
	t.Helper()
	if err := paged.Resolve(&s.engine); err != nil {
		t.Fatal(err)
	}
	ledger := &metrics.Ledger{KeepTokens: true}
	var instances []*cluster.Instance
	for i := range s.instances {
		instances = append(instances, cluster.NewInstance(0, int32(i), cluster.Equipment{Rank: paged.New(&s.engine), Model: s.model, Ledger: ledger}))
	}
	placement := routing.New(routing.Defaults(), 42)
	if s.placement != nil {
		placement = s.placement()
	}
	o := &stepped{heard: map[int32][]float64{}, ends: map[int32]metrics.Status{}}
	o.ended.tally = metrics.NewTally(metrics.Setup{Buckets: []string{"default"}})
	ranges := []routing.Bucket{{Name: "default", Max: routing.Unlimited}}
	service := cluster.NewBuckets(ranges, []*cluster.Cluster{cluster.New(instances, placement)},
		cluster.ServiceSetup{Router: routing.NewGlobal(routing.GlobalDefaults()), Ledger: ledger})
	o.Stepper = simulate.NewStepper(service, ledger, &o.ended, s.sampleMs, func(n simulate.News) {
		o.heard[n.Row] = append(o.heard[n.Row], n.TokenMs...)
		for _, ms := range n.TokenMs {
			if ms > o.NowMs() {
				o.late = fmt.Sprintf("at %v ms: a token of %v ms", o.NowMs(), ms)
			}
		}
		if n.State.Status != metrics.Open {
			o.ends[n.Row] = n.State.Status
		}
	})
	return o
}

// offer plays the calls of a scene, each at its time.
func (o *stepped) offer(t must, calls tasks, look func() float64) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for len(calls) > 0 {
		at := calls[0].ReleaseMs
		for ms := look(); o.NowMs()+ms < at; ms = look() {
			check(o.Advance(o.NowMs() + ms))
			check(o.Decide())
		}
		check(o.Advance(at))
		for len(calls) > 0 && calls[0].ReleaseMs == at {
			n := &calls[0].Nodes[0]
			_, err := o.Submit(&simulate.Offer{
				Label:  metrics.Label{Request: n.ID, Task: calls[0].ID, Session: n.Session, Turn: n.Turn, Line: n.Line},
				Prompt: n.Input, Output: n.Output, MaxTokens: n.OutputTokens, Priority: n.Priority,
			})
			check(err)
			calls = calls[1:]
		}
		check(o.Decide())
	}
}

// drain lets everything end.
func (o *stepped) drain(t must) {
	t.Helper()
	for next := o.NextMs(); !math.IsInf(next, 1); next = o.NextMs() {
		if err := cmp.Or(o.Advance(next), o.Decide()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Close(workload.Interrupted); err != nil {
		t.Fatal(err)
	}
}

// The same requests at the same times have their tokens at the same times whether the
// loop runs by itself or somebody outside has the clock, however often he looks; and
// each token is told once, not before its time.
func TestTheClockMayBeOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.arrival.Origin = workload.OriginRecorded
		inside := s.play(t, way{stepwise: true})
		o := s.stepper(t)
		looks := rapid.SampledFrom([]float64{1e9, 0.3, 2, 11, 0})
		o.offer(t, s.trace.(tasks), func() float64 { return looks.Draw(t, "look after") + 0.1 })
		o.drain(t)
		if len(o.ended.rows) != len(inside.rows) || o.late != "" {
			t.Fatalf("%d rows, %d rows; %s", len(o.ended.rows), len(inside.rows), o.late)
		}
		for i := range inside.rows {
			a, b := &inside.rows[i], &o.ended.rows[i]
			if told(a) != told(b) {
				t.Fatalf("inside  %s\noutside %s", told(a), told(b))
			}
			if !slices.Equal(a.TokenMs, o.heard[int32(i)]) || o.ends[int32(i)] != a.Status {
				t.Fatalf("row %d: told %v %v\nwant %v %v", i, o.heard[int32(i)], o.ends[int32(i)], a.TokenMs, a.Status)
			}
		}
	})
}

func told(r *metrics.Row) string {
	return fmt.Sprint(r.Request, r.Status, r.Reason, r.Instance, r.ArrivalMs, r.AdmitMs, r.EndMs, r.CachedTokens, r.Preemptions, r.TokenMs)
}

// A request that is cancelled has no news any more, its blocks are free for others,
// and everybody else gets all tokens.
func TestACancelledOfferIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		o := s.stepper(t)
		calls := s.trace.(tasks)
		o.offer(t, calls, func() float64 { return 1e9 })
		gone := map[int32]float64{} // when
		for range rapid.IntRange(0, 5).Draw(t, "cancelled") {
			if err := o.Advance(o.NowMs() + rapid.SampledFrom([]float64{0, 1, 7.5}).Draw(t, "wait")); err != nil {
				t.Fatal(err)
			}
			row := int32(rapid.IntRange(0, len(calls)-1).Draw(t, "row"))
			if _, over := o.ends[row]; !over {
				gone[row] = o.NowMs()
			}
			if err := cmp.Or(o.Cancel(row), o.Decide()); err != nil {
				t.Fatal(err)
			}
		}
		o.drain(t)
		for i := range o.ended.rows {
			r := &o.ended.rows[i]
			_, told := o.ends[int32(i)]
			goneMs, cancelled := gone[int32(i)]
			if told == cancelled || r.Status == metrics.Cancelled && !cancelled ||
				cancelled && r.EndMs > goneMs && r.Status != metrics.Rejected { // a pass in flight may have refused it
				t.Fatalf("%s is %v at %v; cancelled: %v at %v, told its end: %v", r.Request, r.Status, r.EndMs, cancelled, goneMs, told)
			}
			if r.Status == metrics.Completed && len(o.heard[int32(i)]) != int(r.OutputTokens) {
				t.Fatalf("%s has %d tokens, told %d", r.Request, r.OutputTokens, len(o.heard[int32(i)]))
			}
		}
		for _, in := range o.Instances() {
			if l := in.Load(o.NowMs()); l.Waiting+l.Running+l.BlocksUsed > 0 {
				t.Fatalf("something is left: %+v", l)
			}
		}
	})
}

package simulate_test

import (
	"context"
	"testing"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/workload"
)

func capped(s scene, ms float64) scene { s.limits.MaxSimTimeMs = &ms; return s }

func twoWays(t *testing.T, s scene, check func(t *testing.T, o *outcome)) {
	for _, w := range []way{{stepwise: true}, {workers: 1}} {
		t.Run(w.String(), func(t *testing.T) { check(t, s.play(t, w)) })
	}
}

// running ahead never asks whether it is drained.
func TestAheadDropsWhatABlindPlacementKeeps(t *testing.T) {
	s := setUpF(flat(t, "A@5:8/2"))
	s.placement = func() routing.Placement { return answers{keeps: true} }
	defer func() {
		if recover() != nil {
			t.Error("no error")
		}
	}()
	if _, err := s.run(context.Background(), t, way{workers: 1}, nil); err == nil {
		t.Error("no error")
	}
}

// clock and worker-seconds of a capped run that goes from instant to instant.
func TestClockUnderACap(t *testing.T) {
	twoWays(t, capped(setUpF(flat(t, "A@0:8/50")), 44), func(t *testing.T, o *outcome) {
		if o.end.ClockMs != 44 {
			t.Errorf("clock %v, the last pass by the cap ends at 44", o.end.ClockMs)
		}
	})
}

// decisions at the cap are made if one runs ahead, else not.
func TestDecisionsAtTheCap(t *testing.T) {
	twoWays(t, capped(setUpF(flat(t, "A@0:8/50")), 44), func(t *testing.T, o *outcome) {
		if o.uses[0].Passes != 19 {
			t.Errorf("%d passes", o.uses[0].Passes)
		}
	})
}

// passes in flight at the cap count whole.
func TestBusyBeyondTheCap(t *testing.T) {
	s := setUpF(flat(t, "A@0:8/1 B@0:8/1"))
	s.engine.MaxNumSeqs, s.model = 1, latency.Fixed{PrefillMs: 1000}
	twoWays(t, capped(s, 1100), func(t *testing.T, o *outcome) {
		if in := o.summary.PerInstance[0]; in.BusyMs > 1100 {
			t.Errorf("busy %v ms of 1100", in.BusyMs)
		}
	})
}

// a run whose last end is at the cap is over, and is called capped if it runs ahead.
func TestReasonAtTheCap(t *testing.T) {
	twoWays(t, capped(setUpF(flat(t, "A@0:8/2")), 12), func(t *testing.T, o *outcome) {
		if o.end.Reason != "" {
			t.Errorf("reason %q", o.end.Reason)
		}
	})
}

// the sum of busy times depends on how often somebody looks.
func TestBusyDependsOnSamples(t *testing.T) {
	s := setUpF(flat(t, "A@0.7:8/3 B@50.3:8/3"))
	s.model = latency.Fixed{PrefillMs: 1, DecodeMs: 1.7}
	without := s.play(t, way{stepwise: true})
	s.sampleMs = 0.5
	with := s.play(t, way{stepwise: true})
	if a, b := without.uses[0].BusyMs, with.uses[0].BusyMs; a != b {
		t.Errorf("busy %v, with samples %v", a, b)
	}
	for _, x := range with.samples {
		if x.BusyFraction < 0 || x.BusyFraction > 1 {
			t.Errorf("busy %v of the time before %v", x.BusyFraction, x.TimeMs)
			break
		}
	}
}

// calls placed ahead that have not arrived when the run is interrupted.
func TestInterruptedBeforeArrival(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	o, err := setUpF(flat(t, "A@0:8/1 B@5000:8/1")).run(ctx, t, way{workers: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.rows {
		if r.EndMs < r.ArrivalMs {
			t.Errorf("%s arrives at %v and ends at %v; not released: %v", r.Request, r.ArrivalMs, r.EndMs, o.left[workload.Interrupted])
		}
	}
}

// "what has ended by then has been observed" (Loop.Run).
func TestRowsBeforeAnError(t *testing.T) {
	s := setUpF(flat(t, "A@0:8/2 B@100:8/2"))
	n := 0
	s.placement = func() routing.Placement { return &second{n: &n} }
	o, err := s.run(context.Background(), t, way{stepwise: true}, nil)
	if err == nil || len(o.rows) != 1 {
		t.Errorf("%d rows, error %v", len(o.rows), err)
	}
}

type second struct {
	answers
	n *int
}

func (p *second) Place(r *routing.Request, _ routing.View, _ float64) (routing.Choice, bool, error) {
	*p.n++
	return routing.Choice{Row: r.Row, Target: int32(99 * (*p.n - 1))}, false, nil
}

package simulate_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/workload"
)

// ways are all ways to play a scene.
var ways = []way{{stepwise: true}, {workers: 1}, {workers: 2}, {workers: 8}}

func (w way) String() string {
	if w.stepwise {
		return "from instant to instant"
	}
	return fmt.Sprintf("ahead with %d workers", w.workers)
}

// each plays a scene in all ways.
func (s scene) each(t *testing.T, check func(t *testing.T, o *outcome)) {
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) { check(t, s.play(t, w)) })
	}
}

// V-02 of spec/replay.md 10.1: the pass that completes a prompt costs its prefill
// only, so the tokens are there at 10 and 12.
func TestVectorV02OneRequest(t *testing.T) {
	setUpF(flat(t, "A@0:8/2")).each(t, func(t *testing.T, o *outcome) {
		r := &o.rows[0]
		if fmt.Sprint(r.TokenMs) != "[10 12]" || r.CachedTokens != 0 || r.TTFTMs() != 10 || r.E2EMs() != 12 || r.TPOTMs() != 2 {
			t.Errorf("got %+v", *r)
		}
	})
}

// V-04: five short requests, one a second, and a cap of 2500 ms. The cap is
// inclusive and stops before the first later event.
func TestVectorV04CapStopsTheRun(t *testing.T) {
	s := setUpF(flat(t, "A@0:8/2 B@1000:8/2 C@2000:8/2 D@3000:8/2 E@4000:8/2"))
	s.limits.MaxSimTimeMs = new(float64)
	*s.limits.MaxSimTimeMs = 2500
	s.each(t, func(t *testing.T, o *outcome) {
		a := o.summary.Accounting
		if a.Offered != 3 || a.Completed != 3 || a.NotReleased != 2 || o.left[workload.TimeCap] != 2 {
			t.Errorf("accounting %+v, not released %v", a, o.left)
		}
		if d := o.summary.DurationMs; d > 2500 || o.end.Reason != workload.TimeCap {
			t.Errorf("duration %v, ended by %q", d, o.end.Reason)
		}
	})
}

// What happens exactly at the cap happens, what would end later does not end.
func TestCapIsInclusive(t *testing.T) {
	for _, c := range []struct {
		capMs     float64
		completed int64
		tokens    int32
	}{{12, 1, 2}, {11.9, 0, 1}, {10, 0, 1}, {9, 0, 0}} {
		s := setUpF(flat(t, "A@0:8/2 B@12.5:8/2"))
		s.limits.MaxSimTimeMs = &c.capMs
		s.each(t, func(t *testing.T, o *outcome) {
			r := &o.rows[0]
			if o.summary.Accounting.Completed != c.completed || r.OutputTokens != c.tokens {
				t.Errorf("cap %v: %+v", c.capMs, *r)
			}
			if r.Status == metrics.Unfinished && (r.EndMs != c.capMs || r.Reason != metrics.TimeCap) {
				t.Errorf("cap %v: it ends %v at %v (%s)", c.capMs, r.Status, r.EndMs, r.Reason)
			}
		})
	}
}

// V-05 (its duration): a request at 0 and a cap of 0. It is offered, and nothing
// takes any time. The reference reports a duration of 0; here none is defined, as
// nothing has completed.
func TestVectorV05NothingWithinTheCap(t *testing.T) {
	s := setUpF(flat(t, "A@0:8/2"))
	s.limits.MaxSimTimeMs = new(float64)
	s.each(t, func(t *testing.T, o *outcome) {
		if o.end.ClockMs != 0 || o.end.Reason != workload.TimeCap || !math.IsNaN(o.summary.DurationMs) {
			t.Errorf("end %+v, duration %v", o.end, o.summary.DurationMs)
		}
		if a := o.summary.Accounting; a.Offered != 1 || a.Unfinished != 1 {
			t.Errorf("accounting %+v", a)
		}
	})
}

// V-06: a request at 10 and a cap of 5: nothing is offered, the clock stays at 0,
// and samples change nothing.
func TestVectorV06NothingBeforeTheCap(t *testing.T) {
	s := setUpF(flat(t, "A@10:8/2"))
	s.limits.MaxSimTimeMs = new(float64)
	*s.limits.MaxSimTimeMs = 5
	quiet := s.play(t, way{stepwise: true})
	s.sampleMs = 1
	s.each(t, func(t *testing.T, o *outcome) {
		if o.end.ClockMs != 0 || len(o.rows) != 0 || o.left[workload.TimeCap] != 1 {
			t.Errorf("end %+v, %d rows, not released %v", o.end, len(o.rows), o.left)
		}
		if o.summaryText() != quiet.summaryText() {
			t.Errorf("with samples\n%s\nwithout\n%s", o.summaryText(), quiet.summaryText())
		}
	})
}

// V-14 (aggregated): on an idle system a request is admitted when it arrives, under
// all rule sets.
func TestVectorV14IdleSystemAdmitsAtArrival(t *testing.T) {
	for _, rules := range []string{"aisimulate", "vllm", "vllm asynchronous"} {
		t.Run(rules, func(t *testing.T) {
			s := setUpF(flat(t, "A@0:8/1 B@10:8/1 C@20:8/1"))
			s.engine.Rules, _, s.engine.VLLM.AsyncScheduling = strings.Cut(rules, " ")
			s.engine.VLLM.AsyncScheduling = s.engine.VLLM.AsyncScheduling || rules == "aisimulate"
			s.each(t, func(t *testing.T, o *outcome) {
				for i := range o.rows {
					if r := &o.rows[i]; r.AdmitMs != r.ArrivalMs {
						t.Errorf("%s arrives at %v and is admitted at %v", r.Request, r.ArrivalMs, r.AdmitMs)
					}
				}
			})
		})
	}
}

// answers is a placement that gives one answer to everything.
type answers struct {
	needs  routing.Needs
	choice routing.Choice
	keeps  bool
}

func (p answers) Needs() routing.Needs { return p.needs }
func (p answers) Place(*routing.Request, routing.View, float64) (routing.Choice, bool, error) {
	return p.choice, p.keeps, nil
}
func (answers) Tell(_ routing.Notice, _ float64, released []routing.Choice) []routing.Choice {
	return released
}
func (answers) Topology(_ routing.Change, _ float64, released []routing.Choice) []routing.Choice {
	return released
}
func (answers) Settled(_ float64, released []routing.Choice) []routing.Choice { return released }
func (answers) Cancel(int32) bool                                             { return false }
func (answers) Pending() int                                                  { return 0 }

// V-10, V-11 and V-44 (without telemetry): a placement that breaks its contract ends
// the run with an error that says when, which request and what was wrong; nothing is
// reported of it.
func TestVectorsOfBrokenPlacements(t *testing.T) {
	for _, c := range []struct {
		id     string
		breaks answers
		want   []string
	}{
		{"V-10", answers{choice: routing.Choice{Target: 4242}}, []string{"at 5 ms", "A", "target 4242 of 1"}},
		{"V-11", answers{choice: routing.Choice{Row: 7}}, []string{"at 5 ms", "A", "answered for row 7"}},
		{"V-44", answers{needs: routing.Ends, keeps: true}, []string{"dead end", "2 requests in flight", "2 kept by the placement", "A", "B", "arrived at 5 ms"}},
	} {
		for _, w := range ways {
			t.Run(c.id+" "+w.String(), func(t *testing.T) {
				s := setUpF(flat(t, "A@5:8/2 B@5:8/2"))
				s.placement = func() routing.Placement { return c.breaks }
				o, err := s.run(context.Background(), t, w, nil)
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
				if len(o.rows) > 0 {
					t.Errorf("%d rows are reported", len(o.rows))
				}
			})
		}
	}
}

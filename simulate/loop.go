package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/workload"
)

// Observer is told what a run brings. It decides nothing and is called from one
// goroutine.
type Observer interface {
	// Row is called for each request that has ended, in order of arrival. The row
	// must not be kept.
	Row(n int32, r *metrics.Row) error
	// Gaps hands over what an instance has gathered since the last call.
	Gaps(in *cluster.Instance, g *metrics.Gaps) error
	// Sample is called in order of (time, bucket, instance).
	Sample(s metrics.Sample) error
}

// Loop is one run. All fields but the optional ones must be set.
type Loop struct {
	Driver   *workload.Driver
	Service  cluster.Service
	Ledger   *metrics.Ledger
	Observer Observer

	CapMs    float64 // the run stops before the first instant after it; +Inf: never
	SampleMs float64 // between samples of the instances; 0: none
	Workers  int     // goroutines that advance instances; 0: GOMAXPROCS
	// Output runs what tells the observer; nil: it is just run. It is the place to
	// take its time.
	Output func(tell func() error) error
	// Stepwise makes the loop go from instant to instant even where calls could be
	// placed ahead of time.
	Stepwise bool

	batch       int // calls placed ahead of time at once; 0: callsAhead
	nowMs       float64
	sample      int // number of the next sample
	calls       []workload.Call
	routed      routing.Request // the call that is being placed
	request     engine.Request
	placedAhead bool
}

// End says how a run ended.
type End struct {
	// ClockMs is the last instant at which something happened.
	ClockMs float64
	// Reason is empty if everything was done, else why the run ended before.
	Reason workload.Reason
}

// Run runs until all work is done, the cap is reached, or ctx is cancelled. An
// error says what went wrong and when; what has ended by then has been observed.
func (l *Loop) Run(ctx context.Context) (End, error) {
	if l.Workers == 0 {
		l.Workers = runtime.GOMAXPROCS(0)
	}
	run := l.stepwise
	if l.Driver.Independent() && l.Service.Blind() && !l.Stepwise {
		run, l.placedAhead = l.ahead, true
	}
	reason, err := run(ctx)
	if err == nil {
		err = l.Driver.Err()
	}
	if err != nil {
		err = fmt.Errorf("at %v ms: %w", l.nowMs, err)
		if also := l.handOut(false); !errors.Is(err, also) { // an observer repeats its error
			err = errors.Join(err, also)
		}
		return End{ClockMs: l.nowMs}, err
	}
	err = l.close(reason)
	return End{ClockMs: l.nowMs, Reason: reason}, err
}

// roundsAtOneInstant bounds how often one instant may be repeated: a guard
// against engines that make no progress.
const roundsAtOneInstant = 1 << 20

// stepwise goes from instant to instant.
func (l *Loop) stepwise(ctx context.Context) (workload.Reason, error) {
	rounds := 0
	relaxed := l.Driver.Independent() && !l.Stepwise
	l.Service.Relax(relaxed)
	for n := 1; ; n++ {
		t := max(l.nowMs, min(l.Driver.Next(), l.Service.NextMs()))
		if relaxed && (t > l.CapMs || math.IsInf(l.Driver.Next(), 1)) { // from now on every instant counts
			relaxed = false
			l.Service.Relax(false)
			t = max(l.nowMs, min(l.Driver.Next(), l.Service.NextMs()))
		}
		if math.IsInf(t, 1) {
			return "", l.checkDrained()
		}
		if t > l.CapMs {
			return workload.TimeCap, l.samples(l.CapMs)
		}
		if rounds++; t > l.nowMs {
			rounds = 0
		}
		if rounds > roundsAtOneInstant {
			return "", fmt.Errorf("no progress: %d rounds at one instant", rounds)
		}
		if err := l.samples(math.Nextafter(t, math.Inf(-1))); err != nil {
			return "", err
		}
		l.nowMs = t
		if err := l.instant(t); err != nil {
			return "", err
		}
		if n%256 == 0 {
			if relaxed {
				if err := l.Service.Gather(t); err != nil {
					return "", err
				}
			}
			if err := l.handOut(false); err != nil {
				return "", err
			}
			if ctx.Err() != nil {
				return workload.Interrupted, nil
			}
		}
	}
}

// instant is one round of an instant.
func (l *Loop) instant(t float64) error {
	err := l.Service.Settle(t, func(e cluster.Ended) {
		l.Driver.Done(e.Row, workload.Outcome{Status: e.Status, OutputTokens: e.OutputTokens}, t)
	})
	if err != nil {
		return err
	}
	l.calls = l.Driver.Release(t, l.calls[:0])
	for i := range l.calls {
		if err := l.place(&l.calls[i], t); err != nil {
			return err
		}
	}
	return l.Service.Start(t)
}

// place opens the row of a call and lets the service place it.
func (l *Loop) place(c *workload.Call, nowMs float64) error {
	n := &c.Task.Nodes[c.Node]
	label := metrics.Label{Request: n.ID, Task: c.Task.ID, Session: n.Session, Turn: n.Turn, Line: n.Line}
	row := l.Ledger.Open(label, c.DueMs, n.InputTokens, n.OutputTokens)
	if row != c.Row {
		return fmt.Errorf("call %s is row %d of the driver and row %d of the ledger", n.ID, c.Row, row)
	}
	l.routed = routing.Request{
		Row: row, InputTokens: n.InputTokens, Prompt: n.Input, Rank: -1,
		Session: cmp.Or(n.Session, c.Task.ID), // by default a task is one session (DESIGN.md 4)
	}
	l.request = engine.Request{
		Row: row, ID: n.ID, Prompt: n.Input, Output: n.Output,
		InputTokens: n.InputTokens, MaxTokens: n.OutputTokens, Priority: n.Priority,
		Arrival: float64(row), // rows are numbered in order of arrival, those of one instant in the order of the trace
	}
	if err := l.Service.Place(&l.routed, &l.request, nowMs); err != nil {
		return fmt.Errorf("call %s: %w", n.ID, err)
	}
	return nil
}

// checkDrained is nil if nothing is left to do; else it names what is stuck.
func (l *Loop) checkDrained() error {
	if l.Driver.Drained() {
		return nil
	}
	c := l.Driver.Counts()
	err := fmt.Errorf("dead end: %d requests in flight, %d kept by the placement, and nothing will happen any more", c.InFlight, l.Service.Kept())
	l.Ledger.OpenRows(func(_ int32, r *metrics.Row) {
		if err != nil && len(err.Error()) < 400 {
			err = fmt.Errorf("%w; %s on instance %d, arrived at %v ms", err, r.Request, r.Instance, r.ArrivalMs)
		}
	})
	return err
}

// samples takes all samples that are due by untilMs.
func (l *Loop) samples(untilMs float64) error {
	for l.sampleDue(untilMs) {
		for _, in := range l.Service.Instances() {
			s, err := in.Sample(l.nextSampleMs())
			if err != nil {
				return err
			}
			if err := l.Observer.Sample(s); err != nil {
				return err
			}
		}
		l.sample++
	}
	return nil
}

func (l *Loop) nextSampleMs() float64 { return float64(l.sample) * l.SampleMs }

// sampleDue is whether there is a sample to take by untilMs.
func (l *Loop) sampleDue(untilMs float64) bool {
	return l.SampleMs > 0 && l.nextSampleMs() <= untilMs
}

// handOut passes on what is complete. all is for the end of the run.
func (l *Loop) handOut(all bool) error {
	if l.Output == nil {
		return l.tell(all)
	}
	return l.Output(func() error { return l.tell(all) })
}

func (l *Loop) tell(all bool) error {
	var err error
	l.Ledger.HandOut(func(n int32, r *metrics.Row) {
		if l.placedAhead {
			l.Driver.Done(n, workload.Outcome{Status: r.Status, OutputTokens: r.OutputTokens}, r.EndMs)
		}
		if err == nil {
			err = l.Observer.Row(n, r)
		}
	})
	for _, in := range l.Service.Instances() {
		if err == nil {
			err = l.Observer.Gaps(in, in.Fold(all))
		}
	}
	return err
}

// close ends what is still open and hands out the rest.
func (l *Loop) close(reason workload.Reason) error {
	if reason == "" {
		if err := l.samples(l.nowMs); err != nil {
			return err
		}
		return l.handOut(true)
	}
	l.Driver.Stop(reason)
	atMs := l.nowMs
	if reason == workload.TimeCap {
		atMs = l.CapMs
	}
	return l.abandon(reason, atMs)
}

// abandon ends what is open at atMs and hands out the rest.
func (l *Loop) abandon(reason workload.Reason, atMs float64) error {
	for _, in := range l.Service.Instances() {
		if err := in.Finish(atMs); err != nil {
			return err
		}
		l.nowMs = max(l.nowMs, in.NowMs())
		in.Abandon(metrics.Unfinished, string(reason), atMs)
	}
	l.Ledger.OpenRows(func(_ int32, r *metrics.Row) {
		r.End(metrics.Unfinished, string(reason), atMs, nil, nil, false)
	})
	return l.handOut(true)
}

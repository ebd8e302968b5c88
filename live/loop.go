package live

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// loop is one repetition. The goroutine of run owns the driver and everything else
// here; those that send calls and run tools hand it what happened as functions.
type loop struct {
	*Settings
	mode       force.Mode
	header     http.Header
	client     *wire.Client
	clock      *clock
	repetition int // from 1; 0 warms up
	refused    map[string]*force.Refusal
	guide      *guide // nil: experts are not forced

	driver  *workload.Driver
	agenda  agenda
	events  chan func()
	desk    *desk
	targets *targets
	book    *book
	tick    func(Progress)

	sending context.Context // of all calls; cancelled when somebody stops the run
	stop    context.CancelFunc
	stopped bool
	open    int // calls and tools that have been released and have not ended
	err     error
	calls   []workload.Call
}

// tickEvery is how often somebody is told how the run stands.
const tickEvery = 200 * time.Millisecond

// run runs until all is done, or ctx is cancelled and all that was open has ended.
func (l *loop) run(ctx context.Context) error {
	l.sending, l.stop = context.WithCancel(context.Background())
	defer l.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	cancelled := ctx.Done()
	for {
		l.turn()
		if l.open == 0 && (l.driver.Drained() || l.err != nil) {
			return errors.Join(l.err, l.driver.Err())
		}
		timer.Reset(duration(l.waitMs()))
		select {
		case event := <-l.events:
			event()
			l.drain()
		case <-timer.C:
		case <-ticker.C:
			l.tick(l.standing())
		case <-cancelled:
			cancelled = nil
			l.interrupt(workload.Interrupted)
		}
	}
}

// turn does all that is due now.
func (l *loop) turn() {
	now := l.clock.now()
	l.agenda.run(now)
	l.calls = l.driver.Release(now, l.calls[:0])
	for _, c := range l.calls {
		l.start(c)
	}
	if l.driver.Err() != nil && !l.stopped {
		l.interrupt(workload.Interrupted)
	}
	l.book.handOut()
}

// waitMs is how long nothing is due.
func (l *loop) waitMs() float64 {
	return max(0, min(l.driver.Next(), l.agenda.nextMs())-l.clock.now())
}

// drain hears all that has happened by now.
func (l *loop) drain() {
	for {
		select {
		case event := <-l.events:
			event()
		default:
			return
		}
	}
}

// interrupt ends the run early: nothing more is released, what is open ends.
func (l *loop) interrupt(why workload.Reason) {
	l.stopped = true
	l.driver.Stop(why)
	l.stop()
	l.agenda.run(math.Inf(1)) // what was to be sent again ends at once
}

// fail ends the run because of an error of its own. f is the call that could not be
// sent.
func (l *loop) fail(err error, f *flight) {
	l.err = errors.Join(l.err, err)
	if !l.stopped {
		l.interrupt(workload.Interrupted)
	}
	now := l.clock.now()
	l.end(f, &wire.Answer{SendMs: math.NaN(), WrittenMs: math.NaN(), FirstByteMs: math.NaN(), LastByteMs: now,
		Failure: &wire.Failure{Kind: metrics.Interrupted, Detail: err.Error()}})
}

// start begins what has been released.
func (l *loop) start(c workload.Call) {
	n := &c.Task.Nodes[c.Node]
	l.open++
	if n.Kind != trace.LLM {
		l.runTool(c, n)
		return
	}
	f := &flight{Call: c, n: n, sentMs: math.NaN()}
	f.row = l.book.arrive(f)
	if refusal := l.refused[n.ID]; refusal != nil {
		l.open--
		now := max(c.ReadyMs, 0)
		l.book.reject(f, refusal, now)
		l.driver.Done(c.Row, workload.Outcome{Status: metrics.Rejected}, now)
		l.desk.take(place{c.Task, c.Node})
		return
	}
	f.sheet = l.desk.take(place{c.Task, c.Node})
	at, err := l.targets.place(f.row, c.Task, n, l.clock.now())
	if err != nil {
		l.fail(err, f)
		return
	}
	f.at = at
	f.wants.Store(1)
	l.launch(f)
}

// end ends a call.
func (l *loop) end(f *flight, a *wire.Answer) {
	l.open--
	if !f.begun {
		l.targets.first(f.at, f.n)
	}
	l.targets.end(f.row, f.at, l.clock.now())
	status := l.book.end(f, a)
	if l.guide != nil {
		l.book.keep(l.guide.clear(l.tableName(f.n)))
	}
	l.driver.Done(f.Row, workload.Outcome{Status: status, OutputTokens: a.Tokens()}, a.LastByteMs)
	if status != metrics.Completed && l.OnFailure == Stop {
		l.desk.drop(f.Task)
	}
	f.sheet = nil
}

// announced hears that a call will be due: its body is made a little before.
func (l *loop) announced(t *trace.Task, node int32, dueMs float64) {
	n := &t.Nodes[node]
	if n.Kind != trace.LLM || l.refused[n.ID] != nil {
		return
	}
	p := place{t, node}
	if dueMs-leadMs <= l.clock.now() {
		l.desk.offer(p)
		return
	}
	l.agenda.add(dueMs-leadMs, func() {
		if !l.stopped {
			l.desk.offer(p)
		}
	})
}

// Progress is how a repetition stands.
type Progress struct {
	Repetition, Repetitions int // from 1; 0: warming up
	Ended, Calls, InFlight  int
	Faithful, Unfaithful    int
	Failed                  int
	TokensPerS              float64 // output, since the last report
	LagMs                   float64 // largest since the last report
}

// standing is how the repetition stands now.
func (l *loop) standing() Progress {
	c := l.driver.Counts()
	p := l.book.standing(l.clock.now())
	p.Repetition, p.Repetitions = l.repetition, l.Repetitions
	p.Calls, p.InFlight = c.InTrace, c.InFlight
	return p
}

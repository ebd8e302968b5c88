package workload

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
)

// Call is a call that starts now, or a tool that the loop runs ([RunTools]).
type Call struct {
	Row  int32       // counts what is released in a run, from 0
	Task *trace.Task // what it belongs to
	Node int32       // which node of the task it is
	// DueMs is its arrival: under recorded times the scheduled instant, else the
	// instant of release (spec/replay.md 2.2-2.6).
	DueMs float64
	// ReadyMs is when nothing but the clock kept it from being released. A loop on
	// virtual time releases it then; one on the wall clock is late by what lies
	// between.
	ReadyMs float64
}

// Outcome is what became of a call, seen from its client.
type Outcome struct {
	Status       metrics.Status
	OutputTokens int32 // received
}

// Driver releases the calls of a trace.
//
// The loop that owns it repeats: wait until [Driver.Next] or until a call ends;
// report ends with [Driver.Done] (and progress with [Driver.Progress]); take what
// is due with [Driver.Release]. What happens at one instant is reported before
// calls of that instant are taken. Times must not go back; only the ends of calls
// nobody waits for (all calls of a driver that is [Driver.Independent]) may be
// reported at any later time and in any order.
//
// Memory follows what is live: one task is read ahead, a task is forgotten when
// its last call has ended. A Driver is not safe for concurrent use.
type Driver struct {
	source trace.Source
	gate   gate
	// table is set if all calls start at recorded times.
	table       *timetable
	speedup     float64 // divides pauses
	limit       int     // calls released at most
	independent bool
	goOn        bool                   // see [GoOnAfterFailure],
	runs        func(*trace.Node) bool // [RunTools],
	late        bool                   // [LateFeedback]
	announce    func(t *trace.Task, node int32, dueMs float64)

	nowMs float64
	ahead *trace.Task // next task to start; nil after the last one
	order int64       // its position in the trace
	queue heap[due]
	rows  rows

	counts  Counts
	waiting int // calls and run tools of started tasks that are not released
	running int // those that are released and have not ended
	stopped Reason
	err     error
}

// New starts a driver at time 0. It refuses a trace that lacks what the settings
// need: recorded times in mode trace, recorded starts with turns: recorded (for
// which it reads the trace once).
func New(t trace.Trace, s Settings, l Limits, options ...Option) (*Driver, error) {
	var p setting.Problems
	p.Under("arrival", s.Validate())
	p.Under("limits", l.Validate())
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := check(t, s); err != nil {
		return nil, err
	}
	source, err := t.Tasks()
	if err != nil {
		return nil, err
	}
	r := t.Report()
	d := &Driver{source: source, speedup: 1, limit: math.MaxInt, order: -1, counts: Counts{InTrace: r.Calls}}
	if s.Mode == ModeTrace {
		table := newTimetable(s.Speedup, s.Origin)
		d.gate, d.speedup = table, s.Speedup
		if s.Turns == TurnsRecorded {
			d.table = table
		}
		d.independent = r.Independent || s.Turns == TurnsRecorded
	} else {
		d.gate = &slots{unused: s.slots()}
	}
	for _, option := range options {
		option(d)
	}
	if l.Requests != nil {
		d.limit = *l.Requests
	}
	if d.read(); d.err != nil {
		return nil, errors.Join(d.err, d.Close())
	}
	d.keepLimit()
	return d, nil
}

// Independent is whether no call ever waits for feedback: the order, the times
// and the number of calls are fixed whatever happens to them.
func (d *Driver) Independent() bool { return d.independent }

// Next is when a call may be released without further feedback: at once if that
// is not after the last time told, +Inf if something has to end first (or all has
// been released). A task can turn out to start with a tool, so that nothing comes
// of it yet.
func (d *Driver) Next() float64 {
	if d.closed() {
		return math.Inf(1)
	}
	return min(d.queueMs(), d.opens(d.nowMs))
}

// Release appends all calls that are due at nowMs to buf, in the order (due time,
// task, node). They count as sent.
func (d *Driver) Release(nowMs float64, buf []Call) []Call {
	d.tell(nowMs)
	for !d.closed() {
		queued, opens := d.queueMs(), d.opens(nowMs)
		switch {
		case min(queued, opens) > nowMs:
			return buf
		case queued < opens, queued == opens && d.table == nil: // tasks of the queue stand before the next one
			buf = append(buf, d.send(d.queue.pop()))
		default:
			buf = d.start(opens, buf)
		}
		d.keepLimit()
	}
	return buf
}

// Done says that a call has ended for its client. What waits for it goes on if it
// completed or was rejected: inputs are recorded, so a rejected turn has ended like
// any other (spec/replay.md 2.5; here in graphs too). Otherwise the rest of its
// task is not released, unless [GoOnAfterFailure] says so.
func (d *Driver) Done(row int32, o Outcome, nowMs float64) {
	f := *d.rows.get(row)
	d.rows.remove(row)
	d.running--
	if !f.isTool() {
		d.counts.InFlight--
	}
	if f.play == nil {
		d.gate.leave(nowMs)
		return
	}
	d.hear(nowMs)
	if d.closed() {
		return
	}
	switch o.Status {
	case metrics.Completed, metrics.Rejected:
		f.play.end(f.node, nowMs)
	case metrics.Failed, metrics.Cancelled, metrics.Unfinished:
		if d.goOn && o.Status != metrics.Unfinished {
			f.play.end(f.node, nowMs)
			break
		}
		jobs, calls := f.play.fail(nowMs)
		d.counts.Skipped += calls
		d.waiting -= jobs
	default:
		panic(fmt.Sprintf("workload: row %d is done with status %v", row, o.Status))
	}
	d.settle(f.play)
}

// WantsProgress is the next output position of a call in flight that somebody
// waits for, 0 if nobody does. It changes with [Driver.Progress] only.
func (d *Driver) WantsProgress(row int32) int32 {
	f := d.rows.get(row)
	if f.play == nil || d.closed() {
		return 0
	}
	return f.play.wants(f.node)
}

// Progress says that a call in flight has written outputTokens tokens by now. It
// may be left out where WantsProgress is 0 or more than that.
func (d *Driver) Progress(row, outputTokens int32, nowMs float64) {
	f := d.rows.get(row)
	if f.play == nil || d.closed() || f.play.failed {
		return
	}
	d.hear(nowMs)
	f.play.reach(int(f.node), moment(outputTokens), nowMs)
}

// Drained is whether nothing is in flight and nothing will be released any more.
func (d *Driver) Drained() bool {
	return d.running == 0 && (d.closed() || d.ahead == nil && d.waiting == 0)
}

// Err is why the trace could not be read to its end. After an error nothing more
// is released.
func (d *Driver) Err() error { return d.err }

// Close closes the trace's source.
func (d *Driver) Close() error { return d.source.Close() }

// closed is whether nothing more is released though there may be more.
func (d *Driver) closed() bool { return d.stopped != "" || d.err != nil }

// tell moves the driver's time.
func (d *Driver) tell(nowMs float64) {
	if !(nowMs >= d.nowMs && finite(nowMs)) {
		panic(fmt.Sprintf("workload: time goes from %v to %v ms", d.nowMs, nowMs))
	}
	d.nowMs = nowMs
}

// hear takes the time of feedback.
func (d *Driver) hear(nowMs float64) {
	if !d.late || !(nowMs < d.nowMs) {
		d.tell(nowMs)
	}
}

// queueMs is when the first queued call is due.
func (d *Driver) queueMs() float64 {
	if len(d.queue) == 0 {
		return math.Inf(1)
	}
	return d.queue[0].atMs
}

// opens is when the next task may start.
func (d *Driver) opens(nowMs float64) float64 {
	if d.ahead == nil {
		return math.Inf(1)
	}
	return d.gate.opens(nowMs)
}

// read looks at the next task of the trace.
func (d *Driver) read() {
	t, err := d.source.Next()
	d.ahead = nil
	d.order++
	if err == nil {
		err = d.gate.expect(t)
	}
	if err == nil && !lone(t) {
		err = checkTask(t, d.speedup)
	}
	switch err {
	case nil:
		d.ahead = t
		d.announceAhead()
	case io.EOF:
	default:
		d.err = fmt.Errorf("trace: %w", err)
	}
}

// announceAhead tells what the next task will start with.
func (d *Driver) announceAhead() {
	if d.announce == nil {
		return
	}
	opens := d.gate.earliest(d.nowMs)
	for i := range d.ahead.Nodes {
		if n := &d.ahead.Nodes[i]; len(n.After) == 0 && n.Kind == trace.LLM {
			d.announce(d.ahead, int32(i), opens+n.NotBeforeMs/d.speedup)
		}
	}
}

// start lets the next task in at startMs. Its first calls are queued; a lone call
// is sent, unless calls of one instant have to be put in order.
func (d *Driver) start(startMs float64, buf []Call) []Call {
	t, order := d.ahead, d.order
	d.gate.enter()
	d.read()
	if d.table == nil && lone(t) {
		return append(buf, d.call(t, nil, 0, startMs))
	}
	p := newPlay(t, order, startMs, d.speedup, &d.queue, d.runs)
	p.announce = d.announce
	if d.table != nil {
		p.startRecorded(d.table)
	} else {
		p.start()
	}
	d.waiting += p.unreleased
	d.settle(p)
	return buf
}

// send releases a queued call.
func (d *Driver) send(q due) Call {
	d.waiting--
	waits := q.play
	if d.independent {
		waits = nil
	}
	c := d.call(q.play.task, waits, q.node, q.atMs)
	q.play.release(q.node, c.DueMs)
	return c
}

// call opens the row of a call that is sent now. p is nil if nobody waits for it.
func (d *Driver) call(t *trace.Task, p *play, node int32, dueMs float64) Call {
	d.running++
	if t.Nodes[node].Kind == trace.LLM {
		d.counts.Offered++
		d.counts.InFlight++
	}
	return Call{Row: d.rows.add(p, node), Task: t, Node: node, DueMs: d.gate.stamp(dueMs, d.nowMs), ReadyMs: dueMs}
}

// settle ends a task that is over.
func (d *Driver) settle(p *play) {
	if p.over() {
		d.gate.leave(p.endMs)
	}
}

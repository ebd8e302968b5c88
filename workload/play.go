package workload

import (
	"math"

	"github.com/reprise-sim/reprise/trace"
)

// play is a task that has started and not ended: what each of its nodes still
// waits for. Tool calls and waits take their recorded time, so their end is known
// as soon as their start is; only calls go into the queue, and only calls have to
// be told to have ended. A tool that the loop runs is like a call.
//
// A play is over when it has no call to release and none in flight. It holds its
// slot until endMs, which a last tool may put later.
type play struct {
	task    *trace.Task
	order   int64   // position of the task in the trace
	speedup float64 // divides pauses
	queue   *heap[due]
	runs    func(*trace.Node) bool // which tools the loop runs; nil: none
	// announce is told of what is queued; nil: nobody is.
	announce func(t *trace.Task, node int32, dueMs float64)

	nodes []nodeState // parallel to task.Nodes
	edges []outEdge

	unreleased int // calls and run tools that are not released yet,
	calls      int // those of them that are calls,
	queued     int // those of them that are in the queue
	running    int // in flight
	endMs      float64
	failed     bool
}

// nodeState is what a node waits for and who waits for it.
type nodeState struct {
	readyMs float64 // earliest start, as far as it is known
	missing int     // edges into it that have not fired
	out     int     // first edge out of it, none if there is none
}

// outEdge is an edge, seen from its source.
type outEdge struct {
	*trace.Edge
	to    int // node that waits
	next  int // next edge out of the same node, none at the end
	fired bool
}

const none = -1

// due is a call that waits for nothing but the clock. Calls leave the queue in
// the order (due time, task, node): spec/replay.md 2.5, 2.8. Where all times are
// recorded, line stands before task: calls of one instant keep their order in the
// trace.
type due struct {
	atMs  float64
	line  int32 // 0 where calls wait for others
	order int64
	play  *play
	node  int32
}

func (d due) Before(o due) bool {
	switch {
	case d.atMs != o.atMs:
		return d.atMs < o.atMs
	case d.line != o.line:
		return d.line < o.line
	case d.order != o.order:
		return d.order < o.order
	}
	return d.node < o.node
}

// moment says how far a node has come: sent, k output tokens written, ended.
type moment int32

const (
	sent  moment = 0
	ended moment = math.MaxInt32
)

// fires is whether an edge out of the node has fired by that moment. Who ends has
// written all that it will write, so nobody waits for a position for ever.
func (m moment) fires(e *trace.Edge) bool {
	switch e.Trigger {
	case trace.Dispatch:
		return m >= sent
	case trace.Output:
		return m >= moment(e.AtOutput)
	}
	return m == ended
}

// lone is whether a task is a single call that may start with its task: the flat
// request, which needs no play.
func lone(t *trace.Task) bool {
	if len(t.Nodes) != 1 {
		return false
	}
	n := &t.Nodes[0]
	return n.Kind == trace.LLM && len(n.After) == 0 && n.NotBeforeMs == 0
}

// newPlay is a task that starts at startMs; nothing of it has happened.
func newPlay(t *trace.Task, order int64, startMs, speedup float64, queue *heap[due], runs func(*trace.Node) bool) *play {
	p := &play{
		task: t, order: order, speedup: speedup, queue: queue, runs: runs,
		nodes: make([]nodeState, len(t.Nodes)), calls: t.Calls(), endMs: startMs,
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if p.released(n) {
			p.unreleased++
		}
		p.nodes[i] = nodeState{readyMs: startMs + n.NotBeforeMs/speedup, missing: len(n.After), out: none}
	}
	return p
}

// released is whether a node comes out of the driver when it is due: the others end
// by themselves.
func (p *play) released(n *trace.Node) bool {
	return n.Kind == trace.LLM || p.runs != nil && p.runs(n)
}

// start lets the nodes run that wait for nothing; the others follow from these.
func (p *play) start() {
	p.linkEdges()
	for i := range p.task.Nodes {
		if len(p.task.Nodes[i].After) == 0 {
			p.ready(i)
		}
	}
}

// startRecorded takes all waiting away: calls that wait for others start at their
// recorded times, the first ones as ever. Tools and waits are in these times
// already.
func (p *play) startRecorded(tt *timetable) {
	startMs := p.endMs
	for i := range p.task.Nodes {
		switch n := &p.task.Nodes[i]; {
		case n.Kind != trace.LLM:
		case len(n.After) > 0:
			p.push(due{atMs: max(startMs, tt.at(n.Details.Recorded.StartMs)), line: n.Line, node: int32(i)})
		default:
			p.push(due{atMs: p.nodes[i].readyMs, line: n.Line, node: int32(i)})
		}
	}
}

// linkEdges chains the edges out of each node, those to earlier nodes first.
func (p *play) linkEdges() {
	count := 0
	for i := range p.nodes {
		count += p.nodes[i].missing
	}
	p.edges = make([]outEdge, 0, count)
	for i := len(p.nodes) - 1; i >= 0; i-- {
		for k := range p.task.Nodes[i].After {
			e := &p.task.Nodes[i].After[k]
			from := &p.nodes[e.From]
			p.edges = append(p.edges, outEdge{Edge: e, to: i, next: from.out})
			from.out = len(p.edges) - 1
		}
	}
}

// ready is called when all edges into a node have fired.
func (p *play) ready(i int) {
	at := p.nodes[i].readyMs
	n := &p.task.Nodes[i]
	if p.released(n) {
		p.push(due{atMs: at, node: int32(i)})
		return
	}
	end := at + n.DurationMs/p.speedup
	p.endMs = max(p.endMs, end)
	p.reach(i, sent, at)
	p.reach(i, ended, end)
}

func (p *play) push(d due) {
	d.order, d.play = p.order, p
	p.queue.push(d)
	p.queued++
	if p.announce != nil {
		p.announce(p.task, d.node, d.atMs)
	}
}

// reach fires the edges out of a node that comes to m at atMs.
func (p *play) reach(i int, m moment, atMs float64) {
	for k := p.nodes[i].out; k != none; k = p.edges[k].next {
		e := &p.edges[k]
		if e.fired || !m.fires(e.Edge) {
			continue
		}
		e.fired = true
		to := &p.nodes[e.to]
		to.readyMs = max(to.readyMs, atMs+e.DelayMs/p.speedup)
		if to.missing--; to.missing == 0 {
			p.ready(e.to)
		}
	}
}

// release notes that a queued call has been sent at atMs.
func (p *play) release(i int32, atMs float64) {
	p.queued--
	p.unreleased--
	p.running++
	if p.task.Nodes[i].Kind == trace.LLM {
		p.calls--
	}
	p.reach(int(i), sent, atMs)
}

// end notes that a call in flight has ended.
func (p *play) end(i int32, atMs float64) {
	p.running--
	p.endMs = max(p.endMs, atMs)
	if !p.failed {
		p.reach(int(i), ended, atMs)
	}
}

// fail ends a call in flight with a failure at atMs. No further call is released,
// tools are given up; how many jobs that costs is returned, and how many of them
// are calls.
func (p *play) fail(atMs float64) (jobs, calls int) {
	p.running--
	p.endMs = atMs
	p.failed = true
	if p.queued > 0 {
		p.queue.removeAll(func(d due) bool { return d.play == p })
		p.queued = 0
	}
	jobs, p.unreleased = p.unreleased, 0
	calls, p.calls = p.calls, 0
	return jobs, calls
}

// over is whether the play has no more to do than to wait for endMs.
func (p *play) over() bool { return p.unreleased == 0 && p.running == 0 }

// wants is the smallest output position of a call in flight that somebody waits
// for, 0 if there is none.
func (p *play) wants(i int32) int32 {
	var at int32
	if p.failed {
		return 0
	}
	for k := p.nodes[i].out; k != none; k = p.edges[k].next {
		if e := &p.edges[k]; e.Trigger == trace.Output && !e.fired && (at == 0 || e.AtOutput < at) {
			at = e.AtOutput
		}
	}
	return at
}

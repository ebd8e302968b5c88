package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/kvcache"
)

// Wires are the links of a bucket and what a block is worth on them. A rate of 0
// turns a tier off.
type Wires struct {
	BlockBytes  float64
	HostGBps    float64 // host memory to device, of each instance
	RemoteGBps  float64 // between two instances
	RemoteLatMs float64 // of each run fetched
}

// hostMs is the duration of a run from host memory.
func (w *Wires) hostMs(blocks int32) float64 {
	return float64(blocks) * w.BlockBytes / (w.HostGBps * 1e6)
}

// remoteMs is the duration of a run over the network (spec/buckets.md 6).
func (w *Wires) remoteMs(blocks int32) float64 {
	return w.RemoteLatMs + float64(blocks)*w.BlockBytes/(w.RemoteGBps*1e6)
}

// load is a request that waits for blocks.
type load struct {
	row, instance int32
	words         []uint64
	hits          int32 // blocks that were in the device
	sources       []kvcache.Source
	left          int   // transfers that are not over
	usable        int32 // leading blocks that will be there: all, or up to the first stale one
	stale         int32
	beganMs       float64
	forgotten     bool // its request has been cancelled
}

// Transfer is a run of blocks that has started on its way into an instance.
type Transfer struct {
	Row, Instance int32 // that wait for it
	Source        kvcache.Source
	Moved         int32 // blocks that come; fewer than the source's if the owner has lost some
	AskedMs       float64
	StartMs       float64
	EndMs         float64
}

// transfer is one run on its way, or waiting for its lane.
type transfer struct {
	seq     int // in order of asking
	load    *load
	source  kvcache.Source
	moved   int32
	askedMs float64
	startMs float64
	endMs   float64
}

// lane carries one transfer at a time, first come, first served.
type lane struct {
	queue   []*transfer
	running *transfer
}

// network is the lanes of a bucket: of each instance one to its host memory, one
// in and one out.
type network struct {
	wires  Wires
	host   []lane
	in     []lane
	out    []lane // runs from the lane's owner; nothing queues here
	asked  int
	flying []*transfer
	// holds is how many of the blocks [from, to) an owner really has.
	holds func(owner int32, words []uint64, from, to int32, nowMs float64) int32
	// started is told each transfer that starts; nil: nobody.
	started func(*Transfer)
}

func newNetwork(instances int, w Wires, started func(*Transfer)) *network {
	return &network{
		wires: w, started: started, host: make([]lane, instances), in: make([]lane, instances), out: make([]lane, instances),
	}
}

// ask queues the runs of a load, in block order.
func (n *network) ask(l *load, nowMs float64) {
	l.beganMs = nowMs
	for _, s := range l.sources {
		t := &transfer{seq: n.asked, load: l, source: s, askedMs: nowMs}
		n.asked++
		q := n.laneOf(t)
		q.queue = append(q.queue, t)
		l.left++
	}
}

// laneOf is the lane that a transfer queues for.
func (n *network) laneOf(t *transfer) *lane {
	if t.source.Host {
		return &n.host[t.load.instance]
	}
	return &n.in[t.load.instance]
}

// backlog is what the transfers from an owner still take: the rest of the running
// one and the full durations of those that wait (spec/buckets.md 6).
func (n *network) backlog(owner int32, nowMs float64) float64 {
	ms := 0.0
	if t := n.out[owner].running; t != nil {
		ms = t.endMs - nowMs
	}
	for i := range n.in {
		for _, t := range n.in[i].queue {
			if t.source.Owner == owner {
				ms += n.wires.remoteMs(t.source.Blocks)
			}
		}
	}
	return ms
}

// start starts transfers whose lanes are free, always the one asked for first.
func (n *network) start(nowMs float64) {
	for {
		var first *transfer
		for i := range n.in {
			for _, q := range [...]*lane{&n.host[i], &n.in[i]} {
				if q.running != nil || len(q.queue) == 0 {
					continue
				}
				t := q.queue[0]
				if !t.source.Host && n.out[t.source.Owner].running != nil {
					continue
				}
				if first == nil || t.seq < first.seq {
					first = t
				}
			}
		}
		if first == nil {
			return
		}
		n.launch(first, nowMs)
	}
}

// launch starts a transfer. If the owner no longer holds a block, the run ends
// before it, and what the request asked for behind it is not fetched.
func (n *network) launch(t *transfer, nowMs float64) {
	q := n.laneOf(t)
	q.queue = slices.Delete(q.queue, 0, 1)
	q.running = t
	t.startMs, t.moved = nowMs, t.source.Blocks
	if t.source.Host {
		t.endMs = nowMs + n.wires.hostMs(t.moved)
	} else {
		n.out[t.source.Owner].running = t
		t.moved = n.holds(t.source.Owner, t.load.words, t.source.From, t.source.From+t.source.Blocks, nowMs)
		t.endMs = nowMs + n.wires.remoteMs(t.moved)
		if t.moved < t.source.Blocks {
			t.load.stale += t.source.Blocks - t.moved
			t.load.usable = min(t.load.usable, t.source.From+t.moved)
			n.giveUp(t.load)
		}
	}
	n.flying = append(n.flying, t)
	if n.started != nil {
		n.started(&Transfer{
			Row: t.load.row, Instance: t.load.instance, Source: t.source, Moved: t.moved,
			AskedMs: t.askedMs, StartMs: t.startMs, EndMs: t.endMs,
		})
	}
}

// giveUp cancels the transfers of a load that have not started.
func (n *network) giveUp(l *load) {
	for _, q := range [...]*lane{&n.host[l.instance], &n.in[l.instance]} {
		q.queue = slices.DeleteFunc(q.queue, func(t *transfer) bool {
			if t.load != l {
				return false
			}
			l.left--
			return true
		})
	}
}

// nextMs is when the next transfer ends.
func (n *network) nextMs() float64 {
	next := math.Inf(1)
	for _, t := range n.flying {
		next = min(next, t.endMs)
	}
	return next
}

// finish ends the transfers that end at nowMs, by (instance, submission), and
// tells the loads that are over.
func (n *network) finish(nowMs float64, over func(*load)) {
	var ending []*transfer
	n.flying = slices.DeleteFunc(n.flying, func(t *transfer) bool {
		if t.endMs <= nowMs {
			ending = append(ending, t)
		}
		return t.endMs <= nowMs
	})
	slices.SortFunc(ending, func(a, b *transfer) int {
		return cmp.Or(cmp.Compare(a.load.instance, b.load.instance), cmp.Compare(a.load.row, b.load.row), cmp.Compare(a.seq, b.seq))
	})
	for _, t := range ending {
		n.laneOf(t).running = nil
		if !t.source.Host {
			n.out[t.source.Owner].running = nil
		}
		if t.load.left--; t.load.left == 0 {
			over(t.load)
		}
	}
}

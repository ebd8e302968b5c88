package literal

import (
	"cmp"
	"slices"
)

// load is a request that waits for blocks from below its pool (spec/buckets.md 6.1).
type load struct {
	q       *request
	in      *instance
	hits    int
	names   []string // of the blocks up to the last one that comes
	runs    []*run
	usable  int // leading blocks that will be there
	stale   int
	beganMs float64
}

// run is blocks [from, from+n) from one place.
type run struct {
	load    *load
	host    bool
	owner   int
	from, n int
	moved   int
	seq     int
	askedMs float64
	startMs float64
	endMs   float64
	state   runState
}

type runState uint8

const (
	queued runState = iota
	moving
	over // or given up
)

func (s *Settings) hostMs(n int) float64 {
	return float64(n) * s.BlockBytes / (s.HostGBps * 1e6)
}

func (s *Settings) remoteMs(n int) float64 {
	return s.RemoteLatencyUs/1000 + float64(n)*s.BlockBytes/(s.RemoteGBps*1e6)
}

func (r *run) ms(n int) float64 {
	if r.host {
		return r.load.in.s.hostMs(n)
	}
	return r.load.in.s.remoteMs(n)
}

// lookFor walks on behind the hits: per block host memory, else another instance,
// until one is found nowhere.
func (in *instance) lookFor(names []string, from int) []*run {
	var runs []*run
	for at := from; at < len(names); {
		r := &run{host: in.s.hostOn(), from: at}
		if r.host {
			for at+r.n < len(names) && in.host.has(names[at+r.n]) {
				r.n++
			}
		}
		if r.n == 0 && in.s.remoteOn() {
			r.host = false
			r.owner, r.n = in.owner(names[at:])
		}
		if r.n == 0 || in.s.Cheaper && !in.cheaper(r) {
			break
		}
		runs = append(runs, r)
		at += r.n
	}
	return runs
}

// cheaper is whether a run takes less time to load than to compute.
func (in *instance) cheaper(r *run) bool {
	ms := in.s.remoteMs(r.n)
	if r.host {
		ms = in.s.hostMs(r.n)
	}
	return ms < in.s.price(int64(r.n)*int64(in.s.Engine.BlockSize))
}

// owner is the instance with the longest run of these blocks, then the least
// backlog, then the smallest number.
func (in *instance) owner(names []string) (owner, longest int) {
	b := in.bucket
	least := 0.0
	for _, o := range b.instances {
		if o == in {
			continue
		}
		n := 0
		for n < len(names) && b.store.visible(names[n], o.id, b.nowMs) && !(in.s.hostOn() && in.host.has(names[n])) {
			n++
		}
		if backlog := b.backlog(o.id); n > longest || n == longest && n > 0 && backlog < least {
			owner, longest, least = o.id, n, backlog
		}
	}
	return owner, longest
}

// use renews entries of hits whose pass is over, and makes the copies in host memory
// of all that was found recent, the last one first.
func (in *instance) use(q *request, hits []*block, found int) {
	for _, b := range hits {
		if in.pool.ready[b.name] {
			in.bucket.store.publish(b.name, in.id, in.bucket.nowMs)
		}
	}
	for _, name := range slices.Backward(q.names[:found]) {
		in.host.touch(name)
	}
}

// owed are the blocks that loading and loaded requests need beyond those they hold.
func (in *instance) owed() int {
	n := 0
	for _, l := range append(slices.Clone(in.loading), in.loaded...) {
		n += in.ceil(l.q.known()) - len(l.q.blocks)
	}
	return n
}

func (in *instance) beginLoad(q *request, hits []*block, runs []*run) {
	b := in.bucket
	last := runs[len(runs)-1]
	l := &load{q: q, in: in, hits: len(hits), runs: runs, usable: last.from + last.n, beganMs: b.nowMs}
	l.names = q.names[:l.usable]
	q.load = l
	in.use(q, hits, l.usable)
	in.pool.hit(hits)
	q.blocks = append(slices.Clone(hits), in.pool.take(l.usable-l.hits)...)
	for _, r := range runs {
		r.load, r.seq, r.askedMs = l, b.asked, b.nowMs
		b.asked++
		b.runs = append(b.runs, r)
		if r.host {
			for _, name := range q.names[r.from : r.from+r.n] {
				in.host.pins[name]++
			}
		}
	}
	in.loading = append(in.loading, l)
}

// loaded ends a load.
func (l *load) loaded() {
	in, b := l.in, l.in.bucket
	in.due = true
	in.loading = slices.DeleteFunc(in.loading, func(o *load) bool { return o == l })
	for _, r := range l.runs {
		for _, name := range l.names[r.from : r.from+r.n] {
			if r.host {
				in.host.pins[name]--
			}
		}
	}
	for i := l.hits; i < l.usable; i++ {
		blk := l.q.blocks[i]
		in.pool.register(blk, l.names[i])
		in.pool.ready[blk.name] = true
		b.store.publish(blk.name, in.id, b.nowMs)
	}
	for _, r := range slices.Backward(l.runs) {
		for i := min(r.from+r.n, l.usable) - 1; i >= r.from && !r.host && in.host.size > 0; i-- {
			in.host.keep(l.names[i])
		}
	}
	l.q.row.RemoteStale += l.stale
	l.q.row.LoadWaitMs += b.nowMs - l.beganMs
	in.loaded = append(in.loaded, l)
}

// backlog is what the transfers of an owner still take: the rest of the one that
// moves and the full durations of those queued.
func (b *bucket) backlog(owner int) float64 {
	ms := 0.0
	for _, r := range b.runs {
		switch {
		case r.host || r.owner != owner:
		case r.state == moving:
			ms += r.endMs - b.nowMs
		case r.state == queued:
			ms += r.ms(r.n)
		}
	}
	return ms
}

// startTransfers starts those that head their lane and whose lanes are free, always
// the one asked for first.
func (b *bucket) startTransfers() bool {
	changed := false
	for {
		at := slices.IndexFunc(b.runs, func(r *run) bool { return r.state == queued && b.mayStart(r) })
		if at < 0 {
			return changed
		}
		b.startTransfer(b.runs[at])
		changed = true
	}
}

// mayStart is whether a run heads its lane and the lanes it needs are free. Runs
// stand in the order in which they were asked for.
func (b *bucket) mayStart(r *run) bool {
	for _, o := range b.runs {
		switch {
		case o == r || o.state == over:
		case o.host == r.host && o.load.in == r.load.in && (o.state == moving || o.seq < r.seq):
			return false // the same host or ingress lane
		case !o.host && !r.host && o.owner == r.owner && o.state == moving:
			return false // the same egress lane
		}
	}
	return true
}

func (b *bucket) startTransfer(r *run) {
	r.state, r.startMs, r.moved = moving, b.nowMs, r.n
	if !r.host {
		o, l := b.instances[r.owner], r.load
		r.moved = 0
		for r.moved < r.n && (o.pool.holds(l.names[r.from+r.moved]) || o.host.has(l.names[r.from+r.moved])) {
			r.moved++
		}
		if r.moved < r.n {
			l.stale += r.n - r.moved
			l.usable = min(l.usable, r.from+r.moved)
			for _, later := range l.runs {
				if later.from > r.from && later.state == queued {
					later.state = over
				}
			}
		}
	}
	r.endMs = r.startMs + r.ms(r.moved)
	b.Transfers = append(b.Transfers, Transfer{
		Row: r.load.q.call.Row, Instance: r.load.in.id, Host: r.host, Owner: r.owner, From: r.from, Blocks: r.n, Moved: r.moved,
		AskedMs: r.askedMs, StartMs: r.startMs, EndMs: r.endMs,
	})
}

// endTransfers ends those that end now, by instance and submission.
func (b *bucket) endTransfers() bool {
	var ending []*run
	for _, r := range b.runs {
		if r.state == moving && r.endMs <= b.nowMs {
			ending = append(ending, r)
		}
	}
	slices.SortFunc(ending, func(a, c *run) int {
		return cmp.Or(cmp.Compare(a.load.in.id, c.load.in.id), cmp.Compare(a.load.q.call.Row, c.load.q.call.Row), cmp.Compare(a.seq, c.seq))
	})
	for _, r := range ending {
		r.state = over
		if !slices.ContainsFunc(r.load.runs, func(o *run) bool { return o.state != over }) {
			r.load.loaded()
		}
	}
	b.runs = slices.DeleteFunc(b.runs, func(r *run) bool { return r.state == over })
	return len(ending) > 0
}

package paged

import (
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/kvcache"
)

// Loads from the tiers below the pool (spec/buckets.md 6.1). A request that finds
// blocks there leaves the queue; it holds its blocks and no slot until they are in.

// loads are the requests that load or have loaded.
type loads struct {
	n     int     // all of them
	ready []int32 // those that have loaded, in the order in which they became so
	// owed are the blocks that their known tokens need beyond those they hold: set
	// aside, so that loads never lock each other out.
	owed int32

	stored    []engine.BlockEvent // computed by passes that are not complete
	evictions []engine.BlockEvent // not told yet
}

var _ engine.Tiered = (*Rank)(nil)

// Attach implements [engine.Tiered].
func (r *Rank) Attach(l engine.Lower) {
	r.lower = l
	r.pool.Watch(func(words []uint64, lo, hi int32, pass int) {
		r.loads.lose(words, lo, hi)
		r.loads.evictions = append(r.loads.evictions, engine.BlockEvent{Kind: engine.Evicted, Words: words, From: lo, To: hi, Pass: pass})
	})
}

// beginLoad sets blocks aside for a load of n blocks behind a hit. All known
// tokens have to fit, whatever is required otherwise. It is false if they do not.
func (r *Rank) beginLoad(s int32, hit kvcache.Hit, n int32, fx *engine.Effects) bool {
	q := &r.requests[s]
	whole := r.blocks(q.known())
	room := whole - hit.Blocks + hit.Idle + r.loads.owed
	if r.running.n > 0 {
		room += r.watermark
	}
	if room > r.pool.Available() {
		r.blocked = r.reserveWhole && !hit.Growing // else it may fit once what it found is gone
		return false
	}
	r.pool.Take(&q.lease, hit, n)
	r.waiting.pop() // its prompt still counts as not computed
	q.state = loading
	q.reserved = hit.Blocks + n
	r.loads.n++
	r.loads.owed += whole - q.reserved
	r.used(q, hit.Blocks, q.reserved, fx)
	r.lower.Begin(q.row)
	return true
}

// Loaded implements [engine.Tiered].
func (r *Rank) Loaded(row int32, blocks int32) {
	s := slices.IndexFunc(r.requests, func(q request) bool { return q.state == loading && q.row == row })
	q := &r.requests[s]
	q.state = loaded
	q.computed = blocks * r.blockSize
	r.pool.Register(&q.lease, blocks)
	r.loads.ready = append(r.loads.ready, int32(s))
	r.blocked = false
}

// admitLoaded tries to admit the first request that has loaded.
func (r *Rank) admitLoaded(st *step, fx *engine.Effects) bool {
	s := r.loads.ready[0]
	q := &r.requests[s]
	n, ok := r.firstChunk(q, q.computed, st)
	if !ok {
		r.blocked = false
		return false
	}
	fresh := r.held(q, q.computed+n) - q.reserved
	room := fresh
	if r.reserveWhole {
		room = max(fresh, r.blocks(q.known())-q.reserved)
	}
	if r.running.n > 0 {
		room += r.watermark
	}
	if room > r.pool.Available() {
		r.blocked = r.reserveWhole
		return false
	}
	r.loads.ready = slices.Delete(r.loads.ready, 0, 1)
	r.loads.n--
	r.loads.owed -= r.blocks(q.known()) - q.reserved
	r.backlog -= int64(q.prompt)
	r.pool.Grow(fresh)
	r.run(s, q.computed, n, st, fx)
	return true
}

// cancelLoad takes back a load.
func (r *Rank) cancelLoad(s int32) {
	q := &r.requests[s]
	if q.state == loaded {
		i := slices.Index(r.loads.ready, s)
		r.loads.ready = slices.Delete(r.loads.ready, i, i+1)
	} else {
		r.lower.Forget(q.row)
	}
	r.loads.n--
	r.loads.owed -= r.blocks(q.known()) - q.reserved
	r.backlog -= int64(q.prompt)
	r.pool.Release(&q.lease, q.reserved, q.lease.Registered())
}

// kept is how many blocks of a prompt go to the tiers below the pool, whether
// anybody else can name them or not.
func (r *Rank) kept(q *request) int32 {
	if r.lower == nil {
		return 0
	}
	return q.prompt / r.blockSize
}

// used reports that an admission or a load found blocks.
func (r *Rank) used(q *request, hits, found int32, fx *engine.Effects) {
	if r.lower != nil && found > 0 {
		r.tellStored(fx) // it may have found what nobody has been told of
		fx.Blocks = append(fx.Blocks, engine.BlockEvent{Kind: engine.Used, Words: q.lease.Words, To: hits, Found: found, Pass: r.pass})
	}
}

// stored notes that a pass computes blocks, to be told when it is complete.
func (r *Rank) stored(q *request, from, to int32, pass int) {
	if r.lower != nil && r.caching && from < to {
		r.loads.stored = append(r.loads.stored, engine.BlockEvent{
			Kind: engine.Stored, Words: q.lease.Words, From: from, To: to, Prompt: q.prompt / r.blockSize, Pass: pass,
		})
	}
}

// lose forgets blocks that have been evicted before the pass is complete that computes
// them: nobody will ever see them (asynchronous scheduling only).
func (l *loads) lose(words []uint64, lo, hi int32) {
	for i := len(l.stored) - 1; i >= 0; i-- {
		e := l.stored[i]
		from, to := max(lo, e.From), min(hi, e.To)
		for n := int32(0); n < to; n++ {
			if words[n] != e.Words[n] {
				to = n
			}
		}
		if from >= to {
			continue
		}
		l.stored[i].To = from
		if e.From = to; e.From < e.To {
			l.stored = slices.Insert(l.stored, i+1, e)
		}
	}
}

// tellStored reports the blocks of passes that are complete.
func (r *Rank) tellStored(fx *engine.Effects) {
	if r.lower == nil {
		return
	}
	r.pool.Settle()
	r.loads.stored = slices.DeleteFunc(r.loads.stored, func(e engine.BlockEvent) bool {
		if e.Pass < r.done && e.From < e.To {
			fx.Blocks = append(fx.Blocks, e)
		}
		return e.Pass < r.done
	})
}

// Secure implements [engine.Tiered].
func (r *Rank) Secure() bool {
	if r.waiting.len()+r.loads.n > 0 {
		return false
	}
	left := r.pool.Size()
	for s := r.running.head; s != none && left >= 0; s = r.requests[s].next {
		q := &r.requests[s]
		left -= r.blocks(q.prompt + q.limit)
	}
	return left >= 0
}

// Look implements [engine.Tiered].
func (r *Rank) Look(fx *engine.Effects) {
	r.catchUp(r.pass-1, everyone)
	r.tellStored(fx)
	r.pool.Settle()
	fx.Blocks = append(fx.Blocks, r.loads.evictions...)
	r.loads.evictions = r.loads.evictions[:0]
}

// growStepwise takes the blocks that n passes need, pass by pass, so that
// evictions can be told with their times.
func (r *Rank) growStepwise(n int) {
	bs := len(r.dec.need)
	for i := range n {
		p := r.pass + i
		r.pool.At(p)
		r.pool.Grow(r.dec.need[p%bs])
	}
}

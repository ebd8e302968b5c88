package paged

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/kvcache"
)

// Blocks of generated tokens that somebody else may look up (Request.Output) are
// findable from the step on that plans their last token. While such a request
// decodes, nobody registers them; they are caught up with when it could matter.

// pending is a generated block that should be findable and is not registered.
type pending struct {
	pass, order int // the step that registers it, and the request's place in it
	slot        int32
	block       int32
}

// everyone stands behind all running requests of a step.
const everyone = math.MaxInt

// catchUp registers, in the order in which they became findable, all generated
// blocks that became so before the request at the given place is served in the
// step that decides a pass.
func (r *Rank) catchUp(pass, order int) {
	if r.growing == 0 {
		return
	}
	list := r.pendings[:0]
	for s := r.running.head; s != none; s = r.requests[s].next {
		if q := &r.requests[s]; q.lease.Grows {
			list = r.appendPending(list, s, pass, order)
		}
	}
	slices.SortFunc(list, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.pass, b.pass), cmp.Compare(a.order, b.order))
	})
	for _, p := range list {
		q := &r.requests[p.slot]
		r.pool.At(p.pass)
		r.pool.Register(&q.lease, p.block+1)
		r.stored(q, p.block, p.block+1, p.pass)
	}
	r.pool.At(r.pass)
	r.pendings = list
}

// appendPending lists the blocks of one request. A decoding request computes the
// last token of block b in pass join + (b+1)·size − computed − 1; under
// asynchronous scheduling that token is known to the step after. One that has
// stopped decoding is not served in that step: the block counts when the step is
// over.
func (r *Rank) appendPending(list []pending, s int32, pass, order int) []pending {
	q := &r.requests[s]
	for b := q.lease.Registered(); int(b) < len(q.lease.Words); b++ {
		last := q.join + int((b+1)*r.blockSize-q.computed) - 1
		if q.state != decoding && last >= q.join {
			break
		}
		at := last + r.depth - 1
		served := q.state == decoding || at <= q.lastToken
		if at > pass || at == pass && (q.order >= order || !served) {
			break
		}
		list = append(list, pending{at, q.order, s, b})
	}
	return list
}

// lookUp finds the leading blocks in the pool, for a look in the step that decides
// pass p, after the running requests have been served.
func (r *Rank) lookUp(words []uint64, limit int32, p int) kvcache.Hit {
	hit := r.pool.Match(words, limit)
	if !hit.Growing {
		return hit
	}
	r.catchUp(p, everyone)
	return r.pool.Match(words, limit)
}

// register makes the full blocks among q's first n tokens findable, of what it
// generates only if somebody else may look for it.
func (r *Rank) register(q *request, n int32) {
	full := n / r.blockSize
	if q.named == nil {
		full = min(full, int32(len(q.lease.Words)))
	}
	from := q.lease.Registered()
	r.pool.Register(&q.lease, full)
	r.stored(q, from, full, r.pass)
}

// release gives back the blocks of q, of which the first full ones are kept as
// content; what nobody knew of them is known since pass.
func (r *Rank) release(q *request, held, full int32, pass int) {
	if q.named != nil && r.caching {
		from := q.lease.Registered()
		r.pool.Register(&q.lease, full)
		r.stored(q, from, full, pass)
	}
	if q.lease.Grows {
		r.growing--
	}
	r.pool.Release(&q.lease, held, full)
}

package paged

import (
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// walk serves the running requests one by one, in order, and takes blocks from
// others when there are none left (vllm-real.md 4.2, 4.3; engine.md 6.2 step 3,
// 6.4). It is the way that is written down; serveAtOnce is the short cut.
func (r *Rank) walk(st *step, fx *engine.Effects) {
	r.steps++
	s := r.running.head
	for s != none && st.left > 0 {
		q := &r.requests[s]
		want := min(r.wanted(q, st), st.left)
		if want == 0 {
			s = q.next
			continue
		}
		next := q.next
		if !r.makeRoom(s, want, st, fx) {
			if s = next; r.selfEndsWalk {
				break
			}
			continue
		}
		s = r.serve(s, want, st)
	}
	for ; s != none; s = r.requests[s].next {
		if r.requests[s].state == decoding {
			r.starve(s, fx)
		}
	}
}

// serve gives a request its tokens and returns the next one in the list.
func (r *Rank) serve(s int32, want int32, st *step) int32 {
	q := &r.requests[s]
	q.stamp = r.steps
	st.left -= want
	if q.state == decoding {
		st.decoded++
		if r.opensBlock(q, r.pass) {
			r.pool.Grow(1)
		}
	} else {
		r.pool.Grow(r.held(q, q.computed+want) - r.held(q, q.computed))
		r.compute(s, want, st)
	}
	return q.next
}

// makeRoom preempts until the blocks for want more tokens of s are there. It is
// false if s itself had to go.
func (r *Rank) makeRoom(s int32, want int32, st *step, fx *engine.Effects) bool {
	q := &r.requests[s]
	n := q.computedAt(r.pass)
	fresh := r.held(q, n+want) - r.held(q, n)
	for fresh > r.pool.Available() {
		v := r.victimOf()
		r.catchUp(r.pass, q.order)
		r.preempt(v, st, fx)
		if v == s {
			return false
		}
	}
	return true
}

// victimOf names the running request that loses its blocks.
func (r *Rank) victimOf() int32 {
	switch r.victim {
	case lastRunning:
		return r.running.tail
	case firstRunning:
		return r.running.head
	}
	worst := r.running.head
	for s := r.requests[worst].next; s != none; s = r.requests[s].next {
		p, q := &r.requests[worst], &r.requests[s]
		if q.priority > p.priority || q.priority == p.priority && q.arrival > p.arrival {
			worst = s
		}
	}
	return worst
}

// preempt takes all blocks from a running request and lets it wait again. What it
// has generated it keeps, a token on its way included. If it was served in this
// step, that is taken back; blocks registered for it stay.
func (r *Rank) preempt(s int32, st *step, fx *engine.Effects) {
	q := &r.requests[s]
	st.preempted, st.changed, r.blocked = true, true, false
	served := q.stamp == r.steps
	at := r.pass
	if served && q.state == decoding {
		st.left++
		st.decoded--
		at++ // its block is taken, its token is not
	}
	held, full := r.held(q, q.computedAt(at)), r.extentAt(q, at)/r.blockSize
	switch q.state {
	case decoding:
		r.leave(s, r.pass)
	case partial:
		r.unpartial(s)
		if served {
			i := slices.IndexFunc(st.chunks, func(k chunk) bool { return k.slot == s })
			st.left += st.chunks[i].n
			st.chunks = slices.Delete(st.chunks, i, i+1)
		}
	}
	if r.caching { // what only q itself may look up has to be found when it returns
		r.nameBlocks(q, full)
		r.pool.Register(&q.lease, full)
	}
	r.release(q, held, full, r.done-1)
	r.unlink(s)
	r.closeRun(q, fx)
	if q.state == leaving {
		q.state = departed
	} else {
		q.state = waiting
	}
	q.computed, q.reserved = 0, 0
	r.waiting.restore(s)
	r.backlog += int64(q.prompt)
	fx.Add(engine.Event{Kind: engine.Preempted, Row: q.row})
}

// starve makes a decoding request that the budget did not reach wait for its turn
// in the running list.
func (r *Rank) starve(s int32, fx *engine.Effects) {
	q := &r.requests[s]
	r.leave(s, r.pass)
	r.closeRun(q, fx)
	q.starved = true
	r.addPartial(s)
}

// addPartial puts a running request among those in mid prefill, in order. The
// decoding requests that stand before it are counted.
func (r *Rank) addPartial(s int32) {
	q := &r.requests[s]
	q.state = partial
	i := len(r.partials)
	for i > 0 && r.requests[r.partials[i-1]].order > q.order {
		i--
	}
	r.partials = slices.Insert(r.partials, i, s)
	q.ahead = int32(r.dec.n)
	if q.next == none {
		return
	}
	for t := q.next; t != none; t = r.requests[t].next {
		if r.requests[t].state == decoding {
			q.ahead--
		}
	}
}

// unpartial takes a request out of those in mid prefill.
func (r *Rank) unpartial(s int32) {
	i := slices.Index(r.partials, s)
	r.partials = slices.Delete(r.partials, i, i+1)
}

// closeRun reports the tokens since the run began. What comes after is a new run.
func (r *Rank) closeRun(q *request, fx *engine.Effects) {
	if n := q.outputs - q.runBase; n > 0 {
		fx.Add(engine.Event{Kind: engine.Tokens, Row: q.row, N: n, Pass: q.runFrom})
		q.runBase = q.outputs
	}
}

package paged

import "github.com/reprise-sim/reprise/engine"

// admit makes waiting requests run, in order, until one cannot
// (vllm-real.md 4.4, engine.md 6.2 step 4): nobody overtakes.
func (r *Rank) admit(st *step, fx *engine.Effects) {
	if r.lower != nil && r.waiting.len()+len(r.loads.ready) > 0 {
		r.catchUp(r.pass, everyone) // running requests register before anybody takes their like
	}
	for r.waiting.len()+len(r.loads.ready) > 0 && r.running.n < r.maxRunning {
		if st.left == 0 && !r.admitsAtZeroBudget {
			r.blocked = len(st.chunks) == 0
			return
		}
		if len(r.loads.ready) > 0 {
			if !r.admitLoaded(st, fx) {
				return
			}
			continue
		}
		s := r.waiting.head()
		if r.refusesInPass {
			if reason := r.refuse(&r.requests[s]); reason != "" {
				r.takeWaiting()
				st.refused = append(st.refused, refusal{s, reason})
				continue
			}
		}
		if !r.admitHead(s, st, fx) {
			return
		}
	}
}

// refuse is why a rule set that refuses in the pass refuses a request; one that
// has run before is not refused (engine.md 6.2 step 4.2, 6.5).
func (r *Rank) refuse(q *request) string {
	if reason := r.overlong(q.prompt); reason != "" {
		return reason
	}
	if q.again {
		return ""
	}
	return r.oversized(q.prompt)
}

// admitHead tries to admit the head of the queue.
func (r *Rank) admitHead(s int32, st *step, fx *engine.Effects) bool {
	q := &r.requests[s]
	known := q.known()
	limit := known / r.blockSize
	if q.outputs < q.limit { // the last known token has to be computed
		limit = (known - 1) / r.blockSize
	}
	if r.caching {
		r.nameBlocks(q, r.kept(q))
	}
	hit := r.lookUp(q.lease.Words, limit, r.pass)
	if r.lower != nil && limit > hit.Blocks {
		if n := r.lower.Find(q.row, q.lease.Words, hit.Blocks, min(limit, int32(len(q.lease.Words)))); n > 0 {
			return r.beginLoad(s, hit, n, fx)
		}
	}
	cached := hit.Blocks * r.blockSize
	n, ok := r.firstChunk(q, cached, st)
	if !ok {
		r.blocked = len(st.chunks) == 0 && !hit.Growing && !r.adaptive && r.lower == nil
		return false
	}
	fresh := r.blocks(cached+n) - hit.Blocks
	room := fresh
	if r.reserveWhole {
		room = max(fresh, r.blocks(known)-hit.Blocks)
	}
	if r.running.n > 0 {
		room += r.watermark
	}
	if room+hit.Idle+r.loads.owed > r.pool.Available() {
		r.blocked = !hit.Growing && (r.reserveWhole || !r.adaptive && r.lower == nil)
		return false
	}
	r.pool.Take(&q.lease, hit, fresh)
	r.takeWaiting()
	r.used(q, hit.Blocks, hit.Blocks, fx)
	r.run(s, cached, n, st, fx)
	return true
}

// run makes a request with cached tokens run and gives it n more, for which it has
// the blocks.
func (r *Rank) run(s int32, cached, n int32, st *step, fx *engine.Effects) {
	q := &r.requests[s]
	r.append(s)
	if q.lease.Grows {
		r.growing++
	}
	q.state = partial
	q.computed = cached
	fx.Add(engine.Event{Kind: engine.Admitted, Row: q.row, N: cached, Again: q.again})
	q.again = true
	r.compute(s, n, st)
	st.left -= n
}

// firstChunk is how many tokens a request gets that has cached ones already. It
// is false if the request cannot be admitted in this step.
func (r *Rank) firstChunk(q *request, cached int32, st *step) (n int32, ok bool) {
	rest := q.known() - cached
	if st.deferring && rest > 1 {
		return 0, false
	}
	n = st.capped(rest)
	if !r.chunking {
		whole := n
		if !r.unchunkedWhole {
			whole = q.prompt - cached
		}
		if whole > st.left {
			return 0, false
		}
	}
	n = min(n, st.left)
	return n, n > 0 || rest == 0
}

// takeWaiting removes the head of the queue.
func (r *Rank) takeWaiting() {
	s := r.waiting.pop()
	r.backlog -= int64(r.requests[s].prompt)
}

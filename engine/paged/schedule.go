package paged

import "github.com/reprise-sim/reprise/engine"

// step is what one call of Schedule works with.
type step struct {
	left      int32 // budget that is left
	threshold int32 // most tokens of one request, 0: no cap
	deferring bool  // prefills do not start or go on in this pass
	preempted bool
	changed   bool
	decoded   int // decoding requests that are served
	chunks    []chunk
	refused   []refusal
	wants     []int32 // scratch of serveAtOnce
}

// chunk is the share of a request that does not decode: n tokens behind before
// others.
type chunk struct {
	slot      int32
	n, before int32
}

// refusal is a request that the rules refuse in a pass.
type refusal struct {
	slot   int32
	reason string
}

// Schedule implements [engine.Rank]: running requests first, then, if nobody lost
// its blocks, waiting ones (vllm-real.md 4, engine.md 6.2).
func (r *Rank) Schedule(p *engine.Pass, fx *engine.Effects) engine.Decision {
	st := r.begin(p.Throttled)
	if !r.serveAtOnce(st) {
		r.walk(st, fx)
	}
	if !st.preempted {
		r.admit(st, fx)
	}
	if !st.deferring && !st.preempted {
		r.bound = r.waiting.len() > 0
	}
	if st.decoded == 0 && len(st.chunks) == 0 && len(st.refused) == 0 {
		if st.changed {
			return engine.Changed
		}
		return engine.Idle
	}
	r.price(st, p)
	r.advance(st)
	return engine.Decided
}

// begin sets up a step.
func (r *Rank) begin(throttled bool) *step {
	st := &r.step
	r.pool.At(r.pass)
	*st = step{left: r.budget, chunks: st.chunks[:0], refused: st.refused[:0], wants: st.wants[:0]}
	if n := int32(r.running.n + r.waiting.len()); r.threshold > 0 && n > 1 {
		st.threshold = r.threshold
		if r.adaptive {
			st.threshold = max(st.threshold, r.fairShare/n)
		}
	}
	st.deferring = throttled && !r.bound && r.running.n > r.prefilling()
	return st
}

// prefilling is the number of running requests that count as being in prefill:
// all that are not past their known tokens, under the reference simulator's rules
// those that are not past their prompt (vllm-real.md 12 row 18).
func (r *Rank) prefilling() int {
	n := 0
	for _, s := range r.partials {
		if r.inPrefill(&r.requests[s]) {
			n++
		}
	}
	return n
}

func (r *Rank) inPrefill(q *request) bool {
	return q.state == partial && !q.starved && (r.recomputeIsPrefill || q.computed < q.prompt)
}

// wanted is what a running request would be given with budget enough.
func (r *Rank) wanted(q *request, st *step) int32 {
	switch q.state {
	case decoding:
		return 1
	case partial:
		if st.deferring && r.inPrefill(q) {
			return 0
		}
		return st.capped(q.known() - q.computed)
	}
	return 0 // leaving: its last token is on its way
}

// capped applies the long-prefill threshold.
func (st *step) capped(n int32) int32 {
	if st.threshold > 0 {
		return min(n, st.threshold)
	}
	return n
}

// serveAtOnce gives all running requests what they want of budget and blocks, if
// it suffices for all of them: then the order in which they are served does not
// matter. Else it changes nothing and returns false.
func (r *Rank) serveAtOnce(st *step) bool {
	members := int32(r.dec.n)
	need := r.dec.need[r.pass%len(r.dec.need)]
	given := int32(0)
	for _, s := range r.partials {
		q := &r.requests[s]
		want := max(0, min(r.wanted(q, st), st.left-q.ahead-given))
		st.wants = append(st.wants, want)
		given += want
		need += r.held(q, q.computed+want) - r.held(q, q.computed)
	}
	if members+given > st.left || need > r.pool.Available() {
		return false
	}
	r.pool.Grow(need)
	st.left -= members + given
	st.decoded = int(members)
	for i, want := range st.wants {
		if want > 0 {
			r.compute(r.partials[i], want, st)
		}
	}
	return true
}

// compute gives a partial request n tokens, for which it has the blocks.
func (r *Rank) compute(s int32, n int32, st *step) {
	q := &r.requests[s]
	r.catchUp(r.pass, q.order)
	st.chunks = append(st.chunks, chunk{s, n, q.computed})
	q.computed += n
	q.lag = false
	r.register(q, q.computed)
}

// price describes the pass. A chunk is prefill if it begins inside the prompt or
// has several tokens, else a decode (DESIGN.md 6); under the reference
// simulator's rules the prompt's part of it is prefill, and one that yields a
// further token is a decode besides (engine.md 3.3).
func (r *Rank) price(st *step, p *engine.Pass) {
	c := &p.Cost
	*c = r.decodePass(st.decoded)
	p.Index, p.Continued = r.pass, st.decoded
	p.Tokens = st.decoded
	for _, k := range st.chunks {
		q := &r.requests[k.slot]
		p.Tokens += int(k.n)
		yields := q.computed == q.known() && q.outputs < q.limit
		if yields {
			c.Sampled++
		}
		if r.recomputeIsPrefill {
			if k.before < q.prompt || k.n > 1 {
				c.AddPrefill(int64(k.n), int64(k.before))
			} else {
				c.AddDecode(int64(k.before) + 1)
			}
			continue
		}
		before := min(k.before, q.prompt)
		own := min(k.before+k.n, q.prompt) - before
		if own > 0 {
			c.AddPrefill(int64(own), int64(before))
		}
		if yields && (own == 0 || q.outputs > 0) {
			c.AddDecode(int64(q.known()))
		}
	}
}

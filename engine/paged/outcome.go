package paged

import (
	"cmp"
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// outcomes are the results of decided passes that are not complete, as far as
// there is anything to tell: in order of passes, and within a pass of the running
// list.
type outcomes struct {
	list []outcome
	// prompts are the prompt tokens that passes in flight compute.
	prompts []promptChunk
}

// outcome is what a pass brings for one request beyond one more token.
type outcome struct {
	pass   int
	slot   int32
	order  int
	first  bool   // its first token
	ends   bool   // its last token
	reason string // it is refused
}

type promptChunk struct {
	pass int
	slot int32
	n    int32
}

// advance makes the decided pass the last one: tokens are counted, requests that
// have computed all known tokens begin to decode, those whose last token it is
// stop.
func (r *Rank) advance(st *step) {
	p := r.pass
	r.pass++
	r.dec.context += int64(r.dec.n)
	from := len(r.late.list)
	r.endDecodes(p)
	for _, k := range st.chunks {
		r.advanceChunk(k, p)
	}
	if news := r.late.list[from:]; len(news) > 1 {
		slices.SortFunc(news, func(a, b outcome) int { return cmp.Compare(a.order, b.order) })
	}
	for _, f := range st.refused {
		r.late.list = append(r.late.list, outcome{pass: p, slot: f.slot, reason: f.reason})
	}
}

// endDecodes lets those stop decoding that get their last token in pass p.
func (r *Rank) endDecodes(p int) {
	for {
		last, ok := r.nextEnding()
		if !ok || last > p {
			return
		}
		e := r.dec.ends.pop()
		r.leave(e.slot, p+1)
		r.requests[e.slot].state = leaving
		r.late.list = append(r.late.list, outcome{pass: p, slot: e.slot, order: e.order, ends: true})
	}
}

// advanceChunk moves a request on that got a chunk in pass p.
func (r *Rank) advanceChunk(k chunk, p int) {
	q := &r.requests[k.slot]
	if n := min(k.before+k.n, q.prompt) - min(k.before, q.prompt); n > 0 {
		r.late.prompts = append(r.late.prompts, promptChunk{p, k.slot, n})
	}
	listed := slices.Contains(r.partials, k.slot)
	if q.computed < q.known() {
		if !listed {
			r.addPartial(k.slot)
		}
		return
	}
	if listed {
		r.unpartial(k.slot)
	}
	if q.outputs == q.limit { // asked for nothing
		q.state = leaving
		r.late.list = append(r.late.list, outcome{pass: p, slot: k.slot, order: q.order, ends: true})
		return
	}
	q.runFrom, q.runBase = p, q.outputs
	q.outputs++
	q.lastToken = p
	o := outcome{pass: p, slot: k.slot, order: q.order, first: q.outputs == 1, ends: q.outputs == q.limit}
	if o.ends {
		q.state = leaving
	} else {
		r.join(k.slot, p)
	}
	if o.first || o.ends {
		r.late.list = append(r.late.list, o)
	}
}

// Complete implements [engine.Rank].
func (r *Rank) Complete(n int, fx *engine.Effects) {
	r.done += n
	l := &r.late
	i := 0
	for ; i < len(l.list) && l.list[i].pass < r.done; i++ {
		r.apply(&l.list[i], fx)
	}
	l.list = append(l.list[:0], l.list[i:]...)
	i = 0
	for i < len(l.prompts) && l.prompts[i].pass < r.done {
		i++
	}
	l.prompts = append(l.prompts[:0], l.prompts[i:]...)
	r.tellStored(fx)
}

// NextEffect implements [engine.Rank].
func (r *Rank) NextEffect(first bool) (pass int, ok bool) {
	for i := range r.late.list {
		if o := &r.late.list[i]; o.ends || o.reason != "" || first && o.first {
			return o.pass, true
		}
	}
	return 0, false
}

// apply tells what a pass brought for a request and lets it go if it has ended.
func (r *Rank) apply(o *outcome, fx *engine.Effects) {
	q := &r.requests[o.slot]
	if o.reason != "" {
		fx.Add(engine.Event{Kind: engine.Rejected, Row: q.row, Pass: o.pass, Reason: o.reason})
		r.drop(o.slot)
		return
	}
	if o.first {
		fx.Add(engine.Event{Kind: engine.First, Row: q.row, Pass: o.pass})
	}
	if !o.ends {
		return
	}
	r.closeRun(q, fx)
	if q.state == departed {
		r.waiting.remove(o.slot)
		r.backlog -= int64(q.prompt)
	} else {
		r.catchUp(r.pass-1, everyone)
		r.release(q, r.held(q, q.computed), r.extentAt(q, o.pass+1)/r.blockSize, o.pass)
		r.unlink(o.slot)
	}
	r.blocked = false
	fx.Add(engine.Event{Kind: engine.Finished, Row: q.row, Pass: o.pass})
	r.drop(o.slot)
}

// Cancel implements [engine.Rank].
func (r *Rank) Cancel(row int32, fx *engine.Effects) bool {
	s, found := r.find(row)
	if !found {
		return false
	}
	q := &r.requests[s]
	switch q.state {
	case waiting, departed:
		r.waiting.remove(s)
		r.backlog -= int64(q.prompt)
	case loading, loaded:
		r.cancelLoad(s)
	default:
		r.catchUp(r.pass-1, everyone)
		held, full := r.held(q, q.computedAt(r.pass)), r.extentAt(q, r.pass)/r.blockSize
		switch q.state {
		case decoding:
			r.leave(s, r.pass)
		case partial:
			r.unpartial(s)
		}
		r.release(q, held, full, r.done-1)
		r.unlink(s)
	}
	r.blocked = false
	r.closeRun(q, fx)
	r.late.list = slices.DeleteFunc(r.late.list, func(o outcome) bool { return o.slot == s })
	r.late.prompts = slices.DeleteFunc(r.late.prompts, func(c promptChunk) bool { return c.slot == s })
	r.drop(s)
	return true
}

// Abandon implements [engine.Rank].
func (r *Rank) Abandon(fx *engine.Effects) {
	for s := r.running.head; s != none; s = r.requests[s].next {
		q := &r.requests[s]
		q.outputs = q.outputsAt(r.pass)
		r.closeRun(q, fx)
	}
}

// find is the slot of a request that is waiting or running.
func (r *Rank) find(row int32) (slot int32, ok bool) {
	for s := r.running.head; s != none; s = r.requests[s].next {
		if r.requests[s].row == row {
			return s, true
		}
	}
	slot = none
	r.waiting.each(func(s int32) {
		if r.requests[s].row == row {
			slot = s
		}
	})
	for s := range r.requests {
		if q := &r.requests[s]; (q.state == loading || q.state == loaded) && q.row == row {
			slot = int32(s)
		}
	}
	return slot, slot != none
}

// chunkTokens are the prompt tokens of passes in flight, of requests that still
// hold their blocks.
func (l *outcomes) chunkTokens(requests []request) int64 {
	n := int64(0)
	for _, c := range l.prompts {
		if st := requests[c.slot].state; st != waiting && st != departed {
			n += int64(c.n)
		}
	}
	return n
}

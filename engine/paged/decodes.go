package paged

// decodes is the set of requests that are past their known tokens: each of them
// computes one token in each pass, and all that a pass needs to know of them are
// sums (spec/fast-path.md 1).
type decodes struct {
	n       int     // members
	context int64   // sum of their known tokens at the start of the next pass
	need    []int32 // need[r]: members that open a block in passes congruent to r modulo the block size
	ends    endings
}

// lastToken is the pass in which a member gets its last token. Entries of
// requests that have left otherwise are recognised and dropped when they surface.
type lastToken struct {
	pass  int
	order int
	slot  int32
}

func (a lastToken) before(b lastToken) bool {
	return a.pass < b.pass || a.pass == b.pass && a.order < b.order
}

// join makes a running request a member from the pass after p on. All its known
// tokens but the newest are computed by then.
func (r *Rank) join(s int32, p int) {
	q := &r.requests[s]
	q.state, q.join, q.starved = decoding, p+1, false
	q.computed = q.known() - 1
	r.dec.n++
	r.dec.context += int64(q.known())
	r.dec.need[r.residue(q)]++
	r.dec.ends.push(lastToken{q.lastDecode(), q.order, s})
	for _, t := range r.partials {
		if o := &r.requests[t]; o.order > q.order {
			o.ahead++
		}
	}
}

// leave takes a member out; the sums stand at the start of pass p, and so do the
// member's own counts afterwards. The caller gives it its new state.
func (r *Rank) leave(s int32, p int) {
	q := &r.requests[s]
	residue := r.residue(q)
	q.outputs, q.computed = q.outputsAt(p), q.computedAt(p)
	q.lag, q.lastToken, q.join = p > q.join, p-1, p
	r.dec.n--
	r.dec.context -= int64(q.known())
	r.dec.need[residue]--
	for _, t := range r.partials {
		if o := &r.requests[t]; o.order > q.order {
			o.ahead--
		}
	}
	r.blocked = false
}

// residue is r such that a member opens a block in passes congruent to r.
func (r *Rank) residue(q *request) int {
	bs := int(r.blockSize)
	return ((q.join-int(q.computed))%bs + bs) % bs
}

// opensBlock is whether a member opens a block in pass p.
func (r *Rank) opensBlock(q *request, p int) bool {
	return q.computedAt(p)%r.blockSize == 0
}

// nextEnding is the first pass in which a member gets its last token.
func (r *Rank) nextEnding() (pass int, ok bool) {
	for len(r.dec.ends) > 0 {
		e := r.dec.ends[0]
		if q := &r.requests[e.slot]; q.state == decoding && q.order == e.order && q.lastDecode() == e.pass {
			return e.pass, true
		}
		r.dec.ends.pop()
	}
	return 0, false
}

// endings is a binary heap of last tokens, earliest first.
type endings []lastToken

func (h *endings) push(e lastToken) {
	a := append(*h, e)
	i := len(a) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(a[parent]) {
			break
		}
		a[i] = a[parent]
		i = parent
	}
	a[i] = e
	*h = a
}

func (h *endings) pop() lastToken {
	a := *h
	top, e := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(a) {
			break
		}
		if c+1 < len(a) && a[c+1].before(a[c]) {
			c++
		}
		if !a[c].before(e) {
			break
		}
		a[i] = a[c]
		i = c
	}
	a[i] = e
	return top
}

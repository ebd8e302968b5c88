package kvcache

// lru orders the copies without a reference by the time of their release. The
// links stand in the copies; lru has the ends.
type lru struct {
	head, tail int32 // released first, released last; none if empty
}

func (l *lru) init() { l.head, l.tail = none, none }

// oldest is the copy that goes next.
func (p *Pool) oldest() int32 {
	if p.head == none {
		panic("kvcache: nothing to evict")
	}
	return p.head
}

// push puts a copy at the end: it was released last.
func (p *Pool) push(c int32) {
	p.copies[c].older, p.copies[c].newer = p.tail, none
	if p.tail == none {
		p.head = c
	} else {
		p.copies[p.tail].newer = c
	}
	p.tail = c
}

// insertAfter puts c directly behind a copy that is in the list.
func (p *Pool) insertAfter(at, c int32) {
	next := p.copies[at].newer
	p.copies[c].older, p.copies[c].newer = at, next
	p.copies[at].newer = c
	if next == none {
		p.tail = c
	} else {
		p.copies[next].older = c
	}
}

// unlink takes a copy out.
func (p *Pool) unlink(c int32) {
	older, newer := p.copies[c].older, p.copies[c].newer
	if older == none {
		p.head = newer
	} else {
		p.copies[older].newer = newer
	}
	if newer == none {
		p.tail = older
	} else {
		p.copies[newer].older = older
	}
}

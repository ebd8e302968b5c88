package paged

import "slices"

// queue holds the waiting requests in the order in which they are looked at.
type queue interface {
	push(s int32)    // a new request
	restore(s int32) // a preempted one
	head() int32     // only if len() > 0
	pop() int32
	remove(s int32)
	len() int
	each(visit func(s int32))
}

// arrivals is first come, first served; a preempted request goes to the front.
// The slots stand in a ring.
type arrivals struct {
	ring []int32 // its length is a power of two
	at   int     // position of the head
	n    int
}

func (a *arrivals) len() int { return a.n }

func (a *arrivals) head() int32 { return a.ring[a.at] }

func (a *arrivals) push(s int32) {
	a.grow()
	a.ring[(a.at+a.n)&(len(a.ring)-1)] = s
	a.n++
}

func (a *arrivals) restore(s int32) {
	a.grow()
	a.at = (a.at - 1) & (len(a.ring) - 1)
	a.ring[a.at] = s
	a.n++
}

func (a *arrivals) pop() int32 {
	s := a.ring[a.at]
	a.at = (a.at + 1) & (len(a.ring) - 1)
	a.n--
	return s
}

// remove shifts what stands before s: who is removed usually stands in front.
func (a *arrivals) remove(s int32) {
	mask := len(a.ring) - 1
	for i := range a.n {
		if a.ring[(a.at+i)&mask] != s {
			continue
		}
		for ; i > 0; i-- {
			a.ring[(a.at+i)&mask] = a.ring[(a.at+i-1)&mask]
		}
		a.pop()
		return
	}
	panic("paged: request does not wait")
}

func (a *arrivals) each(visit func(int32)) {
	for i := range a.n {
		visit(a.ring[(a.at+i)&(len(a.ring)-1)])
	}
}

// grow makes room for one more.
func (a *arrivals) grow() {
	if a.n < len(a.ring) {
		return
	}
	bigger := make([]int32, max(16, 2*len(a.ring)))
	for i := range a.n {
		bigger[i] = a.ring[(a.at+i)&(len(a.ring)-1)]
	}
	a.ring, a.at = bigger, 0
}

// priorities orders by (priority, arrival, id as text), smaller first
// (spec/vllm-real.md 10), new and preempted requests alike. It is a binary heap.
type priorities struct {
	heap []int32
	less func(a, b int32) bool
}

func (p *priorities) len() int        { return len(p.heap) }
func (p *priorities) head() int32     { return p.heap[0] }
func (p *priorities) restore(s int32) { p.push(s) }

func (p *priorities) push(s int32) {
	p.heap = append(p.heap, s)
	p.up(len(p.heap) - 1)
}

func (p *priorities) pop() int32 {
	s := p.heap[0]
	p.removeAt(0)
	return s
}

func (p *priorities) remove(s int32) { p.removeAt(slices.Index(p.heap, s)) }

func (p *priorities) each(visit func(int32)) {
	for _, s := range p.heap {
		visit(s)
	}
}

func (p *priorities) removeAt(i int) {
	last := len(p.heap) - 1
	p.heap[i] = p.heap[last]
	p.heap = p.heap[:last]
	if i < last {
		p.down(i)
		p.up(i)
	}
}

func (p *priorities) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !p.less(p.heap[i], p.heap[parent]) {
			return
		}
		p.heap[i], p.heap[parent] = p.heap[parent], p.heap[i]
		i = parent
	}
}

func (p *priorities) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(p.heap) {
			return
		}
		if c+1 < len(p.heap) && p.less(p.heap[c+1], p.heap[c]) {
			c++
		}
		if !p.less(p.heap[c], p.heap[i]) {
			return
		}
		p.heap[i], p.heap[c] = p.heap[c], p.heap[i]
		i = c
	}
}

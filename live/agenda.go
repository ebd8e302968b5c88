package live

import (
	"container/heap"
	"math"
)

// agenda is what the goroutine that owns the driver has to do later, beside what the
// driver itself waits for: one heap for all of it.
type agenda struct {
	items items
	added int64
}

type item struct {
	atMs  float64
	order int64 // of equal times, the earlier added first
	do    func()
}

// add notes something to do at a time.
func (a *agenda) add(atMs float64, do func()) {
	a.added++
	heap.Push(&a.items, item{atMs, a.added, do})
}

// nextMs is when the next thing is to be done, +Inf if there is none.
func (a *agenda) nextMs() float64 {
	if len(a.items) == 0 {
		return math.Inf(1)
	}
	return a.items[0].atMs
}

// run does what is due.
func (a *agenda) run(nowMs float64) {
	for len(a.items) > 0 && a.items[0].atMs <= nowMs {
		heap.Pop(&a.items).(item).do()
	}
}

// items implements [heap.Interface].
type items []item

func (h items) Len() int      { return len(h) }
func (h items) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h items) Less(i, j int) bool {
	if h[i].atMs != h[j].atMs {
		return h[i].atMs < h[j].atMs
	}
	return h[i].order < h[j].order
}

func (h *items) Push(x any) { *h = append(*h, x.(item)) }
func (h *items) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = item{}
	*h = old[:len(old)-1]
	return last
}

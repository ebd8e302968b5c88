package workload

// heap is a binary min-heap. Equal elements come out in any order, so Before has
// to be a total order where that matters.
type heap[T interface{ Before(T) bool }] []T

// push adds x.
func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	h.up(len(*h) - 1)
}

// pop removes and returns the smallest element; there must be one.
func (h *heap[T]) pop() T {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	var zero T
	s[last] = zero
	*h = s[:last]
	h.down(0)
	return top
}

// removeAll removes the elements for which gone is true.
func (h *heap[T]) removeAll(gone func(T) bool) {
	s := *h
	*h = s[:0]
	for _, x := range s {
		if !gone(x) {
			h.push(x)
		}
	}
	clear(s[len(*h):])
}

func (h *heap[T]) up(i int) {
	s := *h
	for i > 0 {
		parent := (i - 1) / 2
		if !s[i].Before(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *heap[T]) down(i int) {
	s := *h
	for {
		child := 2*i + 1
		if child >= len(s) {
			return
		}
		if right := child + 1; right < len(s) && s[right].Before(s[child]) {
			child = right
		}
		if !s[child].Before(s[i]) {
			return
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}

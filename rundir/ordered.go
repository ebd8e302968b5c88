package rundir

// chunkLen is how many items are formatted at a time, inFlight how many chunks at
// once at most.
const (
	chunkLen = 256
	inFlight = 4
)

// ordered turns items into text in a few goroutines and writes it in order of the
// items.
type ordered[T any] struct {
	file    *File
	format  func(text []byte, item *T) []byte
	filling *chunk[T]
	flying  []*chunk[T] // oldest first
	spare   []*chunk[T]
}

// chunk is some items and, when done has been sent to, their text.
type chunk[T any] struct {
	items []T
	text  []byte
	done  chan struct{}
}

// next is where the next item is to be put.
func (o *ordered[T]) next() *T {
	if o.filling != nil && len(o.filling.items) == chunkLen {
		o.launch()
		o.filling = nil
	}
	if o.filling == nil {
		o.filling = o.chunk()
	}
	c := o.filling
	c.items = c.items[:len(c.items)+1]
	return &c.items[len(c.items)-1]
}

// launch has the chunk being filled formatted.
func (o *ordered[T]) launch() {
	if len(o.flying) == inFlight {
		o.land()
	}
	c := o.filling
	go func() {
		c.text = c.text[:0]
		for i := range c.items {
			c.text = o.format(c.text, &c.items[i])
		}
		c.done <- struct{}{}
	}()
	o.flying = append(o.flying, c)
}

// land writes the text of the oldest chunk.
func (o *ordered[T]) land() {
	c := o.flying[0]
	o.flying = append(o.flying[:0], o.flying[1:]...)
	<-c.done
	o.file.Write(c.text)
	clear(c.items)
	c.items = c.items[:0]
	o.spare = append(o.spare, c)
}

// flush writes all that has been put.
func (o *ordered[T]) flush() {
	if o.filling != nil {
		o.launch()
		o.filling = nil
	}
	for len(o.flying) > 0 {
		o.land()
	}
}

// chunk is an empty chunk.
func (o *ordered[T]) chunk() *chunk[T] {
	if n := len(o.spare); n > 0 {
		c := o.spare[n-1]
		o.spare = o.spare[:n-1]
		return c
	}
	return &chunk[T]{items: make([]T, 0, chunkLen), done: make(chan struct{}, 1)}
}

package literal

import "slices"

// block is a KV block of an instance. Its name is the content up to its end; empty
// while it has none.
type block struct {
	name string
	refs int
}

// pool is the blocks of one instance (spec/vllm-real.md 3).
type pool struct {
	queue []*block            // without a reference, the next to be taken first
	named map[string][]*block // those with a name, registered first comes first
	ready map[string]bool     // whether a pass that computed it is over
	size  int
	lost  func(name string) // the last copy has been evicted
}

func newPool(size int) *pool {
	p := &pool{named: map[string][]*block{}, ready: map[string]bool{}, size: size}
	for range size {
		p.queue = append(p.queue, &block{})
	}
	return p
}

func (p *pool) free() int { return len(p.queue) }
func (p *pool) used() int { return p.size - len(p.queue) }

// take pops n blocks; one that has a name loses it.
func (p *pool) take(n int) []*block {
	var taken []*block
	for _, b := range p.queue[:n] {
		p.forget(b)
		taken = append(taken, &block{refs: 1})
	}
	p.queue = p.queue[n:]
	return taken
}

func (p *pool) forget(b *block) {
	if b.name == "" {
		return
	}
	name, at := b.name, slices.Index(p.named[b.name], b)
	p.named[name] = slices.Delete(p.named[name], at, at+1)
	b.name = ""
	if len(p.named[name]) == 0 {
		delete(p.ready, name)
		p.lost(name)
	}
}

// hit adds a reference to each block.
func (p *pool) hit(blocks []*block) {
	for _, b := range blocks {
		if b.refs == 0 {
			at := slices.Index(p.queue, b)
			p.queue = slices.Delete(p.queue, at, at+1)
		}
		b.refs++
	}
}

// release drops one reference of each block, the last block first. Those with a name
// go to the back of the queue, the others to its front.
func (p *pool) release(blocks []*block) {
	for _, b := range slices.Backward(blocks) {
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.name != "" {
			p.queue = append(p.queue, b)
		} else {
			p.queue = slices.Insert(p.queue, 0, b)
		}
	}
}

// find is the longest run of blocks with these names.
func (p *pool) find(names []string) []*block {
	var run []*block
	for _, name := range names {
		copies := p.named[name]
		if len(copies) == 0 {
			break
		}
		run = append(run, copies[0])
	}
	return run
}

// holds is whether a copy is there whose pass is over.
func (p *pool) holds(name string) bool { return p.ready[name] }

func (p *pool) register(b *block, name string) {
	b.name = name
	p.named[name] = append(p.named[name], b)
}

// idle counts blocks without a reference.
func idle(blocks []*block) int {
	n := 0
	for _, b := range blocks {
		if b.refs == 0 {
			n++
		}
	}
	return n
}

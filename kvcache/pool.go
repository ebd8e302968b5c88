package kvcache

import "slices"

// Pool is a fixed number of blocks. Each is free, active (somebody holds a
// reference) or idle (nobody does, but its content can still be found).
//
// Taking blocks may owe evictions: active grows at once, the idle runs that have
// to go are dropped when somebody next looks. Nothing can tell the difference.
type Pool struct {
	size    int32
	active  int32
	idle    int32
	caching bool
	leases  uint32 // number of the last lease

	tree[physical]
	unused list // copies without a reference

	evicted func(words []uint64, lo, hi int32, step int)
	step    int
	taken   []taking
}

// taking is how many blocks were active after some were taken in a step.
type taking struct {
	active int32
	step   int
}

// physical is one copy of a node's blocks. Content that is computed twice is there
// twice; copies of a node are listed oldest first. A run of blocks that nobody can
// name has a copy without a node.
type physical struct {
	refs   int32
	lease  uint32 // who computed it
	blocks int32  // without a node: how many
}

// NewPool is an empty pool of the given number of blocks. Without caching nothing
// is ever found again.
func NewPool(blocks int, caching bool) *Pool {
	p := &Pool{size: int32(blocks), caching: caching}
	p.tree.init()
	p.unused.init()
	return p
}

// Size is the number of blocks.
func (p *Pool) Size() int32 { return p.size }

// Active is the number of blocks with a reference.
func (p *Pool) Active() int32 { return p.active }

// Idle is the number of blocks without a reference that can still be found.
func (p *Pool) Idle() int32 { return min(p.idle, p.size-p.active) }

// Available is the number of blocks without a reference: what a request could
// get, idle ones by eviction.
func (p *Pool) Available() int32 { return p.size - p.active }

// Watch makes the pool report content whose last copy is evicted, with the step in
// which the blocks were taken that it had to make room for; see [Pool.At].
func (p *Pool) Watch(evicted func(words []uint64, lo, hi int32, step int)) { p.evicted = evicted }

// At names the step in which blocks are taken and registered from now on. It may
// go back: what was taken in later steps then finds the registered blocks there.
func (p *Pool) At(step int) { p.step = step }

// Settle carries out the evictions that are owed, so that they are reported.
func (p *Pool) Settle() { p.settle() }

// Lease is what one admission of a request holds. The holder sets Words and Grows
// before [Pool.Take] and keeps count of its blocks; the pool keeps the rest.
type Lease struct {
	// Words is the content of the holder's leading blocks, as far as it can be
	// named. It may be extended, never changed.
	Words []uint64
	// Grows says that blocks will be registered that others may look up, and that
	// the holder registers them late: see Hit.Growing.
	Grows bool

	id   uint32
	tip  int32 // node at which the registered path ends
	path int32 // registered blocks
}

// Registered is the number of leading blocks that can be found by others.
func (l *Lease) Registered() int32 { return l.path }

// Hit is the outcome of a look-up.
type Hit struct {
	Blocks int32 // leading blocks that are in the pool
	Idle   int32 // those of them without a reference: taking them costs capacity
	// Growing says that a growing lease ends somewhere along the run: if its holder
	// registers what it has computed, the run may be longer.
	Growing bool

	node int32 // node in which the run ends
}

// Match finds the longest run of leading blocks that are in the pool, over at
// most limit blocks. It does not touch the order of eviction.
func (p *Pool) Match(words []uint64, limit int32) Hit {
	var h Hit
	if !p.caching {
		return h
	}
	p.settle()
	if n := int32(len(words)); limit > n {
		limit = n
	}
	growing := false
	for h.Blocks < limit {
		growing = growing || p.nodes[h.node].growing > 0
		k := p.find(h.node, words[h.Blocks])
		if k == 0 {
			break
		}
		nd := &p.nodes[k]
		n := common(nd.words[nd.lo:nd.hi], words[nd.lo:limit])
		if p.entries[nd.first].is.refs == 0 {
			h.Idle += n
		}
		h.Blocks += n
		h.node = k
		if h.Blocks < nd.hi {
			break
		}
	}
	h.Growing = growing && h.Blocks < limit
	return h
}

// Take gives l the blocks of a hit (looked up with nothing taken or released
// since) and fresh new ones. It panics if the pool cannot give them: the caller
// checks h.Idle + fresh ≤ Available.
func (p *Pool) Take(l *Lease, h Hit, fresh int32) {
	if h.Idle+fresh > p.Available() {
		panic("kvcache: more blocks taken than there are")
	}
	if h.Blocks < p.nodes[h.node].hi {
		h.node = p.cut(h.node, h.Blocks)
	}
	for n := h.node; n != root; n = p.nodes[n].parent {
		c := p.nodes[n].first
		if p.entries[c].is.refs == 0 {
			p.unlink(&p.unused, c)
			p.count(p.nodes[n].len())
		}
		p.entries[c].is.refs++
	}
	p.leases++
	l.id, l.tip, l.path = p.leases, h.node, h.Blocks
	p.grows(l, l.tip)
	p.take(fresh)
}

// Grow takes n more blocks for leases that exist; whoever holds a lease knows how
// many of them are its own. It panics if there are not enough.
func (p *Pool) Grow(n int32) {
	if n > p.Available() {
		panic("kvcache: more blocks taken than there are")
	}
	p.take(n)
}

// take makes n blocks active that may have to be evicted for it.
func (p *Pool) take(n int32) {
	p.active += n
	if p.evicted != nil && n > 0 {
		p.taken = append(p.taken, taking{p.active, p.step})
	}
}

// Register makes the blocks of l up to upTo findable. Blocks whose content is
// already there are kept beside it; look-ups return the copy registered first.
func (p *Pool) Register(l *Lease, upTo int32) {
	if !p.caching || upTo <= l.path {
		return
	}
	p.settle()
	tip := l.tip
	for b := l.path; b < upTo; b = p.nodes[tip].hi {
		k := p.find(tip, l.Words[b])
		switch {
		case k != 0:
			nd := &p.nodes[k]
			if end := b + common(nd.words[b:nd.hi], l.Words[b:upTo]); end < nd.hi {
				k = p.cut(k, end)
			}
			p.addEntry(k, physical{refs: 1, lease: l.id})
			tip = k
		case p.extendable(tip, l.id):
			p.nodes[tip].words = l.Words
			p.nodes[tip].hi = upTo
		default:
			tip = p.addNode(tip, l.Words, b, upTo)
			p.addEntry(tip, physical{refs: 1, lease: l.id})
		}
	}
	if tip != l.tip {
		p.shrinks(l, l.tip)
		p.grows(l, tip)
	}
	l.tip, l.path = tip, upTo
}

// Release gives back all held blocks of l, the last one first. Of those, the
// first full ones stay in the pool until they are evicted; blocks that were never
// registered by then can be found by nobody and only take up room.
func (p *Pool) Release(l *Lease, held, full int32) {
	if !p.caching {
		p.active -= held
		return
	}
	p.settle()
	full = max(full, l.path)
	p.active -= held - full
	if n := full - l.path; n > 0 {
		p.count(-n)
		p.push(&p.unused, p.newEntry(none, physical{blocks: n}))
	}
	p.shrinks(l, l.tip)
	for n := l.tip; n != root; n = p.nodes[n].parent {
		c := p.held(n, l.id)
		p.entries[c].is.refs--
		if p.entries[c].is.refs == 0 {
			p.count(-p.nodes[n].len())
			p.push(&p.unused, c)
		}
	}
	l.tip, l.path = root, 0
}

// Reset drops all content that nobody holds.
func (p *Pool) Reset() {
	p.settle()
	for p.idle > 0 {
		p.evict(p.idle)
	}
}

// count moves n blocks from idle to active, back if n is negative.
func (p *Pool) count(n int32) {
	p.active += n
	p.idle -= n
}

// settle carries out the evictions that are owed, for those who are told step by
// step up to the step that there is now.
func (p *Pool) settle() {
	step, n := p.step, 0
	for n < len(p.taken) && p.taken[n].step <= step {
		p.step = p.taken[n].step
		p.shrinkTo(p.size - p.taken[n].active)
		n++
	}
	p.step, p.taken = step, slices.Delete(p.taken, 0, n)
	if len(p.taken) == 0 {
		p.shrinkTo(p.size - p.active)
	}
}

// shrinkTo evicts until at most n blocks are idle.
func (p *Pool) shrinkTo(n int32) {
	for p.idle > n {
		p.evict(p.idle - n)
	}
}

// evict drops at most n idle blocks: the end of the run that was released first.
func (p *Pool) evict(n int32) {
	c := p.unused.oldest
	nd := p.entries[c].node
	if nd == none {
		is := &p.entries[c].is
		n = min(n, is.blocks)
		is.blocks -= n
		p.idle -= n
		if is.blocks == 0 {
			p.unlink(&p.unused, c)
			p.freeEntry(c)
		}
		return
	}
	node := &p.nodes[nd]
	n = min(n, node.len())
	p.idle -= n
	switch {
	case n == node.len():
		p.removeCopy(nd, c)
	case p.entries[c].next == none && node.first == c:
		node.hi -= n
		p.tell(node, node.hi, node.hi+n)
	default: // another copy stays whole
		p.cut(nd, node.hi-n)
		p.removeCopy(nd, c)
	}
}

// removeCopy drops an idle copy of node n, and n with its last copy.
func (p *Pool) removeCopy(n, c int32) {
	p.unlink(&p.unused, c)
	p.removeEntry(n, c)
	if nd := &p.nodes[n]; nd.first == none {
		p.tell(nd, nd.lo, nd.hi)
		p.removeNode(n)
	}
}

// tell reports that content is gone.
func (p *Pool) tell(n *node, lo, hi int32) {
	if p.evicted != nil {
		p.evicted(n.words, lo, hi, p.step)
	}
}

// cut splits node n at block m. The end of a run goes before its beginning.
func (p *Pool) cut(n, m int32) int32 {
	return p.split(n, m, func(high, low int32) {
		if p.entries[high].is.refs == 0 {
			p.pushAfter(&p.unused, high, low)
		}
	})
}

// held is the copy of node n that lease id refers to: its own if it computed one,
// else the oldest, which cannot have changed while it was held.
func (p *Pool) held(n int32, id uint32) int32 {
	first := p.nodes[n].first
	for c := first; c != none; c = p.entries[c].next {
		if p.entries[c].is.lease == id {
			return c
		}
	}
	return first
}

// extendable is whether lease id may lengthen node n in place: its own copy is
// the only one, nobody else refers to it and nothing hangs on it.
func (p *Pool) extendable(n int32, id uint32) bool {
	if n == root || p.nodes[n].kids > 0 {
		return false
	}
	c := &p.entries[p.nodes[n].first]
	return c.next == none && c.is.lease == id && c.is.refs == 1
}

// grows notes that l, if it registers late, ends at node n; shrinks takes it back.
func (p *Pool) grows(l *Lease, n int32) {
	if l.Grows {
		p.nodes[n].growing++
	}
}

func (p *Pool) shrinks(l *Lease, n int32) {
	if l.Grows {
		p.nodes[n].growing--
	}
}

// common is the length of the common prefix of a and b.
func common(a, b []uint64) int32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return int32(i)
		}
	}
	return int32(n)
}

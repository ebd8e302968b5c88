package kvcache

import "math"

// Directory is who holds which content in a bucket: the meta store, and the host
// memory (L1) of each instance (spec/buckets.md 6). Content is a tree of runs, as
// in a [Pool]; what an instance holds of a run is one entry, whatever its length.
//
// A block is visible while its owner's entry has not expired and has not been
// withdrawn. Publishing, using and losing blocks are told with their times; times
// of one instance must not go back.
type Directory struct {
	tree[holding]
	hosts   []host
	rules   Visibility
	scratch []int32
	swept   int // nodes when dead entries were last swept out
	changes func(Change)
}

// Visibility is how long others see that a block is there.
type Visibility struct {
	TTLMs      float64 // since it was published last; +Inf: for ever
	WithdrawMs float64 // since its owner lost it; +Inf: until it expires
}

// holding is what one instance has of a run.
type holding struct {
	instance  int32
	device    bool  // a copy in L0 whose pass is over
	host      bool  // a copy in L1
	pins      int32 // loads that count on the host copy
	published float64
	gone      float64 // withdrawn from then on; +Inf: not withdrawn
}

// NewDirectory is a directory of instances 0 to instances-1, each with hostBlocks
// blocks of host memory.
func NewDirectory(instances, hostBlocks int, v Visibility) *Directory {
	d := &Directory{hosts: make([]host, instances), rules: v}
	d.tree.init()
	for i := range d.hosts {
		d.hosts[i].init()
		d.hosts[i].size = int32(hostBlocks)
	}
	return d
}

// Change is a change of what the meta store says. A directory that is fed the
// changes of another is what that one was.
type Change struct {
	AtMs     float64
	Instance int32
	Words    []uint64
	Lo, Hi   int32
	Publish  bool    // published at AtMs, else
	GoneMs   float64 // withdrawn from then on
}

// Watch makes the directory report its changes.
func (d *Directory) Watch(changes func(Change)) { d.changes = changes }

// Apply makes a change of another directory.
func (d *Directory) Apply(c Change) {
	for _, n := range d.span(c.Words, c.Lo, c.Hi, c.Publish) {
		if c.Publish {
			h := d.hold(n, c.Instance)
			h.published, h.gone = c.AtMs, math.Inf(1)
		} else if e := d.held(n, c.Instance); e != none {
			h := &d.entries[e].is
			h.gone = min(h.gone, c.GoneMs)
		}
	}
	d.sweep(c.AtMs)
}

// Store says that blocks [from, to) of words have been computed by an instance, or
// loaded into its device, at atMs.
func (d *Directory) Store(instance int32, words []uint64, from, to int32, atMs float64) {
	for _, n := range d.span(words, from, to, true) {
		h := d.hold(n, instance)
		h.device, h.published, h.gone = true, atMs, math.Inf(1)
	}
	d.tell(Change{AtMs: atMs, Instance: instance, Words: words, Lo: from, Hi: to, Publish: true})
	d.sweep(atMs)
}

// Use says that an instance uses the first hits blocks of words from its device at
// atMs, which renews their entries, and that it found the first found blocks there
// or in its host memory, which makes the host copies recent. Blocks whose pass is
// still running are not renewed.
func (d *Directory) Use(instance int32, words []uint64, hits, found int32, atMs float64) {
	for _, n := range d.span(words, 0, hits, false) {
		if e := d.held(n, instance); e != none && d.entries[e].is.device {
			h := &d.entries[e].is
			h.published, h.gone = atMs, math.Inf(1)
			d.tell(Change{AtMs: atMs, Instance: instance, Words: words, Lo: d.nodes[n].lo, Hi: d.nodes[n].hi, Publish: true})
		}
	}
	d.touch(instance, words, found)
}

// Evict says that the last copy of blocks [lo, hi) of words has left the device of
// an instance at atMs.
func (d *Directory) Evict(instance int32, words []uint64, lo, hi int32, atMs float64) {
	nodes := d.span(words, lo, hi, false)
	for i := len(nodes) - 1; i >= 0; i-- {
		e := d.held(nodes[i], instance)
		if e == none {
			continue
		}
		d.entries[e].is.device = false
		if !d.entries[e].is.host {
			d.lose(nodes[i], e, atMs)
		}
	}
}

// lose withdraws an entry whose last copy went at atMs.
func (d *Directory) lose(n, e int32, atMs float64) {
	h := &d.entries[e].is
	h.gone = min(h.gone, atMs+d.rules.WithdrawMs)
	nd := &d.nodes[n]
	d.tell(Change{AtMs: atMs, Instance: h.instance, Words: nd.words, Lo: nd.lo, Hi: nd.hi, GoneMs: h.gone})
	if !d.visible(h, atMs) {
		d.forget(n, e)
	}
}

// forget drops an entry, and the node and its ancestors if nobody needs them.
func (d *Directory) forget(n, e int32) {
	d.removeEntry(n, e)
	for n != root && d.nodes[n].first == none && d.nodes[n].kids == 0 {
		parent := d.nodes[n].parent
		d.removeNode(n)
		n = parent
	}
}

func (d *Directory) tell(c Change) {
	if d.changes != nil && c.Lo < c.Hi {
		d.changes(c)
	}
}

// visible is whether others see an entry at atMs; expiry is strict.
func (d *Directory) visible(h *holding, atMs float64) bool {
	return atMs < h.published+d.rules.TTLMs && atMs < h.gone
}

// held is the entry of an instance on a node, none if there is none.
func (d *Directory) held(n, instance int32) int32 {
	for e := d.nodes[n].first; e != none; e = d.entries[e].next {
		if d.entries[e].is.instance == instance {
			return e
		}
	}
	return none
}

// hold is what an instance holds of a node, added if need be.
func (d *Directory) hold(n, instance int32) *holding {
	e := d.held(n, instance)
	if e == none {
		e = d.addEntry(n, holding{instance: instance, published: math.Inf(-1), gone: math.Inf(1)})
	}
	return &d.entries[e].is
}

// span lists the nodes that are blocks [from, to) of words, cut at both ends.
// Missing ones are made if create is set, else the list ends before them.
func (d *Directory) span(words []uint64, from, to int32, create bool) []int32 {
	nodes := d.scratch[:0]
	at := root
	for b := int32(0); b < to; b = d.nodes[at].hi {
		end := to
		if b < from {
			end = from
		}
		k := d.find(at, words[b])
		switch {
		case k != 0:
			if same := b + common(d.nodes[k].words[b:d.nodes[k].hi], words[b:end]); same < d.nodes[k].hi {
				k = d.cut(k, same)
			}
		case create:
			k = d.addNode(at, words, b, end)
		default:
			d.scratch = nodes
			return nodes
		}
		if b >= from {
			nodes = append(nodes, k)
		}
		at = k
	}
	d.scratch = nodes
	return nodes
}

// cut splits node n at block m. The end of a run is dropped before its beginning.
func (d *Directory) cut(n, m int32) int32 {
	return d.split(n, m, func(high, low int32) {
		if h := &d.entries[high].is; h.host {
			d.pushAfter(&d.hosts[h.instance].recent, high, low)
		}
	})
}

// sweep drops entries that nobody will see again, when the tree has doubled since
// it was last done.
func (d *Directory) sweep(atMs float64) {
	if live := len(d.nodes) - len(d.freeNodes); live < 2*d.swept+1024 {
		return
	}
	for n := range d.nodes {
		for e := d.nodes[n].first; e != none; {
			next := d.entries[e].next
			if h := &d.entries[e].is; !h.device && !h.host && !d.visible(h, atMs) {
				d.forget(int32(n), e)
			}
			e = next
		}
	}
	d.swept = len(d.nodes) - len(d.freeNodes)
}

package kvcache

// Source is where a run of blocks can be had from.
type Source struct {
	Host   bool  // the instance's own host memory
	Owner  int32 // else: the instance that holds it
	From   int32 // first block
	Blocks int32
}

// piece is a part of a chain on one node.
type piece struct{ node, lo, hi int32 }

// pieces lists the nodes that blocks [from, limit) of words lie on, as far as they
// are known, without cutting any.
func (d *Directory) pieces(buf []piece, words []uint64, from, limit int32) []piece {
	at := root
	for b := int32(0); b < limit; {
		k := d.find(at, words[b])
		if k == 0 {
			break
		}
		nd := &d.nodes[k]
		end := b + common(nd.words[b:nd.hi], words[b:limit])
		if end > from {
			buf = append(buf, piece{k, max(b, from), end})
		}
		if end < nd.hi {
			break
		}
		b, at = end, k
	}
	return buf
}

// Prefix finds how many leading blocks of words, at most limit, each instance owns
// by the meta store at atMs, into dst, which has a place for each instance; any is
// the longest leading run in which every block has some owner.
func (d *Directory) Prefix(dst []int32, words []uint64, limit int32, atMs float64) (any int32) {
	clear(dst)
	at := root
	for b := int32(0); b < limit && any == b; {
		k := d.find(at, words[b])
		if k == 0 {
			break
		}
		nd := &d.nodes[k]
		end := b + common(nd.words[b:nd.hi], words[b:limit])
		for e := nd.first; e != none; e = d.entries[e].next {
			h := &d.entries[e].is
			if !d.visible(h, atMs) {
				continue
			}
			any = end
			if dst[h.instance] == b {
				dst[h.instance] = end
			}
		}
		if end < nd.hi {
			break
		}
		b, at = end, k
	}
	return any
}

// Finder says how an instance looks for blocks below its device.
type Finder struct {
	Instance int32
	Host     bool // its host memory is asked
	Remote   bool // other instances are asked
	// Usable is whether an owner may be asked, Backlog what its transfers still
	// take; only with Remote.
	Usable  func(owner int32) bool
	Backlog func(owner int32) float64
}

// Find lists where blocks [from, limit) of words can be had at atMs, until one is
// found nowhere: per block the own host memory, else another instance, of those
// that hold it the one with the longest run from there, then the least backlog,
// then the smallest number; such a run ends before a block that is in the own host
// memory (spec/buckets.md 6).
func (d *Directory) Find(dst []Source, f *Finder, words []uint64, from, limit int32, atMs float64) []Source {
	var stack [16]piece
	pieces := d.pieces(stack[:0], words, from, limit)
	for i := 0; i < len(pieces); {
		if len(dst) == 0 && pieces[i].lo != from || len(dst) > 0 && pieces[i].lo != end(dst) {
			break
		}
		n := 0 // pieces of this source
		s := Source{From: pieces[i].lo}
		if d.inHost(pieces[i].node, f) {
			for s.Host = true; i+n < len(pieces) && d.inHost(pieces[i+n].node, f); n++ {
				s.Blocks = pieces[i+n].hi - s.From
			}
		} else if f.Remote {
			s.Owner, n = d.owner(pieces[i:], f, atMs)
			if n > 0 {
				s.Blocks = pieces[i+n-1].hi - s.From
			}
		}
		if n == 0 {
			break
		}
		dst = append(dst, s)
		i += n
	}
	return dst
}

func end(found []Source) int32 {
	last := found[len(found)-1]
	return last.From + last.Blocks
}

// inHost is whether a node is in the finder's own host memory.
func (d *Directory) inHost(n int32, f *Finder) bool {
	e := d.held(n, f.Instance)
	return f.Host && e != none && d.entries[e].is.host
}

// owner is the instance to fetch the first pieces from, and how many of them; 0 if
// there is none.
func (d *Directory) owner(pieces []piece, f *Finder, atMs float64) (best int32, most int) {
	var backlog float64
	for e := d.nodes[pieces[0].node].first; e != none; e = d.entries[e].next {
		o := d.entries[e].is.instance
		if o == f.Instance || !f.Usable(o) {
			continue
		}
		n := d.run(pieces, o, f, atMs)
		switch b := f.Backlog(o); {
		case n == 0:
		case n > most, n == most && (b < backlog || b == backlog && o < best):
			best, most, backlog = o, n, b
		}
	}
	return best, most
}

// run is how many of the pieces an owner has, one after the other.
func (d *Directory) run(pieces []piece, owner int32, f *Finder, atMs float64) int {
	for i, p := range pieces {
		e := d.held(p.node, owner)
		if e == none || !d.visible(&d.entries[e].is, atMs) || d.inHost(p.node, f) {
			return i
		}
	}
	return len(pieces)
}

// Holds is how many of the blocks [from, to) of words an instance really holds,
// from the first on: in its device, the pass over, or in its host memory.
func (d *Directory) Holds(instance int32, words []uint64, from, to int32) int32 {
	var stack [16]piece
	at := from
	for _, p := range d.pieces(stack[:0], words, from, to) {
		e := d.held(p.node, instance)
		if p.lo != at || e == none || !d.entries[e].is.device && !d.entries[e].is.host {
			break
		}
		at = p.hi
	}
	return at - from
}

// InHost is how many of the blocks [from, to) of words are in an instance's host
// memory, from the first on.
func (d *Directory) InHost(instance int32, words []uint64, from, to int32) int32 {
	var stack [16]piece
	at := from
	f := Finder{Instance: instance, Host: true}
	for _, p := range d.pieces(stack[:0], words, from, to) {
		if p.lo != at || !d.inHost(p.node, &f) {
			break
		}
		at = p.hi
	}
	return at - from
}

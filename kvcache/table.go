package kvcache

// table finds the children of nodes: it maps (parent, word of the child's first
// block) to the child. Open addressing with linear probing; what is removed leaves
// no trace (backward shift), so it never has to be rebuilt but to grow.
//
// A slot holds the node's number and 32 bits of its key's hash, which decide where
// it stands and make it rare to look at a node that is not meant; the keys
// themselves stand in the nodes.
type table struct {
	slots []slot // its length is a power of two
	n     int
}

type slot struct {
	hash uint32
	node int32 // 0: empty
}

func (t *table) init() { t.slots = make([]slot, 64) }

// hash spreads a key over 32 bits: words may be small numbers, and equal under
// different parents.
func hash(parent int32, word uint64) uint32 {
	h := (word ^ uint64(uint32(parent))*0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	return uint32(h >> 32)
}

// find returns the child of parent that begins with word, 0 if there is none.
func (t *tree[E]) find(parent int32, word uint64) int32 {
	slots := t.kids.slots
	h, mask := hash(parent, word), uint32(len(slots)-1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := slots[i]
		if s.node == 0 {
			return 0
		}
		if s.hash == h {
			if nd := &t.nodes[s.node]; nd.parent == parent && nd.words[nd.lo] == word {
				return s.node
			}
		}
	}
}

// insert adds node n under its own key, which is not there yet.
func (t *tree[E]) insert(n int32) {
	k := &t.kids
	if 4*(k.n+1) > 3*len(k.slots) {
		k.widen()
	}
	k.n++
	nd := &t.nodes[n]
	k.put(slot{hash(nd.parent, nd.words[nd.lo]), n})
}

// rename lets the entry of node n stand for node m, which has the same key.
func (t *tree[E]) rename(n, m int32) { t.kids.slots[t.slotOf(n)].node = m }

// remove takes node n out, whose key is still the one it was inserted with.
func (t *tree[E]) remove(n int32) {
	slots := t.kids.slots
	mask := uint32(len(slots) - 1)
	i := t.slotOf(n)
	for j := (i + 1) & mask; slots[j].node != 0; j = (j + 1) & mask {
		if (j-slots[j].hash)&mask >= (j-i)&mask {
			slots[i] = slots[j]
			i = j
		}
	}
	slots[i] = slot{}
	t.kids.n--
}

// slotOf is where node n stands.
func (t *tree[E]) slotOf(n int32) uint32 {
	nd := &t.nodes[n]
	mask := uint32(len(t.kids.slots) - 1)
	i := hash(nd.parent, nd.words[nd.lo]) & mask
	for t.kids.slots[i].node != n {
		i = (i + 1) & mask
	}
	return i
}

func (k *table) put(s slot) {
	mask := uint32(len(k.slots) - 1)
	i := s.hash & mask
	for k.slots[i].node != 0 {
		i = (i + 1) & mask
	}
	k.slots[i] = s
}

// widen doubles the table.
func (k *table) widen() {
	old := k.slots
	k.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.node != 0 {
			k.put(s)
		}
	}
}

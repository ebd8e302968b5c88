package kvcache

// tree is the cached content: runs of blocks, each behind the run of its parent.
type tree struct {
	nodes      []node
	freeNodes  []int32
	kids       table
	copies     []copyOf
	freeCopies []int32
}

const (
	root int32 = 0  // the empty prefix
	none int32 = -1 // no node, no copy
)

// node is a run of blocks [lo, hi) of a chain of content, words[lo:hi]. Its
// ancestors hold blocks [0, lo). What hangs on a node hangs at its end.
type node struct {
	words   []uint64
	parent  int32
	lo, hi  int32
	first   int32 // oldest copy: the one that look-ups find
	kids    int32
	growing int32 // leases that end here and register late
}

func (n *node) len() int32 { return n.hi - n.lo }

// copyOf is one physical copy of a node's blocks. Content that is computed twice
// is there twice; copies of a node are listed oldest first. A run of blocks that
// nobody can name has a copy without a node.
type copyOf struct {
	node   int32
	next   int32 // next younger copy of the node
	refs   int32
	lease  uint32 // who computed it
	blocks int32  // without a node: how many
	// idle list, while refs is 0
	older, newer int32
}

func (t *tree) init() {
	t.nodes = []node{{first: none}}
	t.kids.init()
}

// addNode hangs blocks [lo, hi) of l, computed by l, on parent.
func (t *tree) addNode(parent int32, l *Lease, lo, hi int32) int32 {
	n := t.newNode(node{words: l.Words, parent: parent, lo: lo, hi: hi, first: none})
	t.insert(n)
	t.nodes[parent].kids++
	t.addCopy(n, l.id)
	return n
}

func (t *tree) newNode(nd node) int32 {
	if k := len(t.freeNodes); k > 0 {
		n := t.freeNodes[k-1]
		t.freeNodes = t.freeNodes[:k-1]
		t.nodes[n] = nd
		return n
	}
	t.nodes = append(t.nodes, nd)
	return int32(len(t.nodes) - 1)
}

// split cuts node n at block m. The part before m becomes a new node, which is
// returned; n keeps what lies behind, so that leases and children, which hang at
// its end, need not be told.
func (t *Pool) split(n, m int32) int32 {
	low := t.newNode(node{})
	high := &t.nodes[n]
	t.nodes[low] = node{words: high.words, parent: high.parent, lo: high.lo, hi: m, first: none, kids: 1}
	t.rename(n, low)
	high.parent, high.lo = low, m
	t.insert(n)
	last := none
	for c := high.first; c != none; c = t.copies[c].next {
		d := t.newCopy(copyOf{node: low, next: none, refs: t.copies[c].refs, lease: t.copies[c].lease})
		if last == none {
			t.nodes[low].first = d
		} else {
			t.copies[last].next = d
		}
		last = d
		if t.copies[c].refs == 0 { // the end of a run goes before its beginning
			t.insertAfter(c, d)
		}
	}
	return low
}

// extendable is whether lease id may lengthen node n in place: its own copy is
// the only one, nobody else refers to it and nothing hangs on it.
func (t *tree) extendable(n int32, id uint32) bool {
	if n == root || t.nodes[n].kids > 0 {
		return false
	}
	c := &t.copies[t.nodes[n].first]
	return c.next == none && c.lease == id && c.refs == 1
}

// addCopy adds a copy of node n that lease id has computed and holds.
func (t *tree) addCopy(n int32, id uint32) {
	c := t.newCopy(copyOf{node: n, next: none, refs: 1, lease: id})
	at := &t.nodes[n].first
	for *at != none {
		at = &t.copies[*at].next
	}
	*at = c
}

// nameless is a run of n blocks that nobody can look up.
func (t *tree) nameless(n int32) int32 {
	return t.newCopy(copyOf{node: none, next: none, blocks: n})
}

func (t *tree) newCopy(c copyOf) int32 {
	if k := len(t.freeCopies); k > 0 {
		i := t.freeCopies[k-1]
		t.freeCopies = t.freeCopies[:k-1]
		t.copies[i] = c
		return i
	}
	t.copies = append(t.copies, c)
	return int32(len(t.copies) - 1)
}

func (t *tree) freeCopy(c int32) { t.freeCopies = append(t.freeCopies, c) }

// held is the copy of node n that lease id refers to: its own if it computed one,
// else the oldest, which cannot have changed while it was held.
func (t *tree) held(n int32, id uint32) int32 {
	first := t.nodes[n].first
	for c := first; c != none; c = t.copies[c].next {
		if t.copies[c].lease == id {
			return c
		}
	}
	return first
}

// removeCopy drops copy c of node n, and n with its last copy.
func (t *tree) removeCopy(n, c int32) {
	at := &t.nodes[n].first
	for *at != c {
		at = &t.copies[*at].next
	}
	*at = t.copies[c].next
	t.freeCopy(c)
	if t.nodes[n].first != none {
		return
	}
	nd := &t.nodes[n]
	t.remove(n)
	t.nodes[nd.parent].kids--
	*nd = node{first: none}
	t.freeNodes = append(t.freeNodes, n)
}

// grows notes that l, if it registers late, ends at node n; shrinks takes it back.
func (t *tree) grows(l *Lease, n int32) {
	if l.Grows {
		t.nodes[n].growing++
	}
}

func (t *tree) shrinks(l *Lease, n int32) {
	if l.Grows {
		t.nodes[n].growing--
	}
}

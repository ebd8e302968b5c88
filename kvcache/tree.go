package kvcache

// tree is content as runs of blocks: each node is a run behind the run of its
// parent. Entries hang on nodes and cover all of a node's blocks: a physical copy
// in a [Pool], what an instance holds in a [Directory]. Where something happens to
// a part of a run, the node is cut in two, and its entries with it.
type tree[E any] struct {
	nodes       []node
	freeNodes   []int32
	kids        table
	entries     []entry[E]
	freeEntries []int32
}

const (
	root int32 = 0  // the empty prefix
	none int32 = -1 // no node, no entry
)

// node is a run of blocks [lo, hi) of a chain of content, words[lo:hi]. Its
// ancestors are blocks [0, lo). What hangs on a node hangs at its end.
type node struct {
	words   []uint64
	parent  int32
	lo, hi  int32
	first   int32 // first entry
	kids    int32
	growing int32 // leases that end here and register late
}

func (n *node) len() int32 { return n.hi - n.lo }

// entry is something that is known of all blocks of a node. Entries of a node
// keep the order in which they were added; an entry may also stand in a [list].
type entry[E any] struct {
	node         int32
	next         int32 // next entry of the node
	older, newer int32
	is           E
}

func (t *tree[E]) init() {
	t.nodes = []node{{first: none}}
	t.kids.init()
}

// addNode hangs blocks [lo, hi) of words on parent.
func (t *tree[E]) addNode(parent int32, words []uint64, lo, hi int32) int32 {
	n := t.newNode(node{words: words, parent: parent, lo: lo, hi: hi, first: none})
	t.insert(n)
	t.nodes[parent].kids++
	return n
}

func (t *tree[E]) newNode(nd node) int32 {
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
// its end, need not be told. Entries are doubled; twin is told each pair.
func (t *tree[E]) split(n, m int32, twin func(high, low int32)) int32 {
	low := t.newNode(node{})
	high := &t.nodes[n]
	t.nodes[low] = node{words: high.words, parent: high.parent, lo: high.lo, hi: m, first: none, kids: 1}
	t.rename(n, low)
	high.parent, high.lo = low, m
	t.insert(n)
	last := none
	for c := high.first; c != none; c = t.entries[c].next {
		d := t.newEntry(low, t.entries[c].is)
		if last == none {
			t.nodes[low].first = d
		} else {
			t.entries[last].next = d
		}
		last = d
		twin(c, d)
	}
	return low
}

// removeNode takes a node out that has neither entries nor children.
func (t *tree[E]) removeNode(n int32) {
	nd := &t.nodes[n]
	t.remove(n)
	t.nodes[nd.parent].kids--
	*nd = node{first: none}
	t.freeNodes = append(t.freeNodes, n)
}

// addEntry adds an entry to a node, behind those it has.
func (t *tree[E]) addEntry(n int32, is E) int32 {
	c := t.newEntry(n, is)
	at := &t.nodes[n].first
	for *at != none {
		at = &t.entries[*at].next
	}
	*at = c
	return c
}

// removeEntry drops an entry of a node.
func (t *tree[E]) removeEntry(n, c int32) {
	at := &t.nodes[n].first
	for *at != c {
		at = &t.entries[*at].next
	}
	*at = t.entries[c].next
	t.freeEntry(c)
}

// newEntry makes an entry that its node does not list yet.
func (t *tree[E]) newEntry(n int32, is E) int32 {
	e := entry[E]{node: n, next: none, older: none, newer: none, is: is}
	if k := len(t.freeEntries); k > 0 {
		i := t.freeEntries[k-1]
		t.freeEntries = t.freeEntries[:k-1]
		t.entries[i] = e
		return i
	}
	t.entries = append(t.entries, e)
	return int32(len(t.entries) - 1)
}

func (t *tree[E]) freeEntry(c int32) { t.freeEntries = append(t.freeEntries, c) }

// list orders entries by the time since which nobody has used them. The links
// stand in the entries; list has the ends.
type list struct {
	oldest, newest int32 // none if empty
}

func (l *list) init() { l.oldest, l.newest = none, none }

// push puts an entry at the end: it was used last.
func (t *tree[E]) push(l *list, c int32) {
	t.entries[c].older, t.entries[c].newer = l.newest, none
	if l.newest == none {
		l.oldest = c
	} else {
		t.entries[l.newest].newer = c
	}
	l.newest = c
}

// pushAfter puts c directly behind an entry that is in the list.
func (t *tree[E]) pushAfter(l *list, at, c int32) {
	next := t.entries[at].newer
	t.entries[c].older, t.entries[c].newer = at, next
	t.entries[at].newer = c
	if next == none {
		l.newest = c
	} else {
		t.entries[next].older = c
	}
}

// unlink takes an entry out.
func (t *tree[E]) unlink(l *list, c int32) {
	older, newer := t.entries[c].older, t.entries[c].newer
	if older == none {
		l.oldest = newer
	} else {
		t.entries[older].newer = newer
	}
	if newer == none {
		l.newest = older
	} else {
		t.entries[newer].older = older
	}
}

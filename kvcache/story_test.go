package kvcache

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/internal/scenario"
)

// TestStories plays the scenarios in testdata, written in this language. Content is
// written as the words of its blocks, a.b.c; a block is named by its whole chain,
// because equal words behind different ones are different content.
func TestStories(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", language, func() *story { return &story{} })
}

// story is a pool and who holds what of it.
type story struct {
	pool   *Pool
	leases map[string]*held
}

// Check implements [scenario.Checked].
func (s *story) Check() error { return audit(s.pool) }

// held is a lease with the count that its holder keeps.
type held struct {
	Lease
	blocks int32
}

// language is what can be told.
var language = scenario.Language[*story]{
	// An empty pool of so many blocks. caching=off finds nothing again.
	//
	//	pool blocks=6
	//	----
	//	0 active, 0 idle, 6 free
	"pool": (*story).begin,

	// A lease on content: the blocks that are found, and fresh ones for the rest. limit=N
	// looks for the first N only, fresh=N takes so many instead, grows says that its
	// holder registers late.
	//
	//	take A a.b.c
	//	----
	//	2 found (1 of them idle), 1 fresh
	//	3 active, 0 idle, 3 free
	"take": (*story).take,

	// More blocks for a lease that exists.
	//
	//	grow A n=2
	//	----
	//	5 active, 0 idle, 1 free
	"grow": (*story).grow,

	// The first blocks of a lease can be found from now on; words=… extends its content.
	//
	//	register A to=3
	//	----
	//	3 active, 0 idle, 3 free
	"register": (*story).register,

	// A lease ends. Of its blocks the first full=N stay as content (those that are
	// registered if nothing is said).
	//
	//	release A
	//	----
	//	0 active, 3 idle, 3 free
	"release": (*story).release,

	// A look-up.
	//
	//	match a.b.x
	//	----
	//	2 found (2 of them idle)
	"match": (*story).match,

	// Idle blocks, the one that goes first in front. ? is a block that nobody can name.
	//
	//	order
	//	----
	//	a.b.c a.b a
	"order": (*story).order,

	// The tree: runs of blocks, with the references of each copy, oldest copy first.
	//
	//	tree
	//	----
	//	a.b refs 1
	//	  c refs 0
	//	  x refs 1, 0
	"tree": (*story).tree,

	// Drops what nobody holds.
	//
	//	reset
	//	----
	//	3 active, 0 idle, 3 free
	"reset": (*story).reset,
}

func (s *story) begin(t *testing.T, td *datadriven.TestData) string {
	var blocks int
	td.ScanArgs(t, "blocks", &blocks)
	caching := "on"
	td.MaybeScanArgs(t, "caching", &caching)
	*s = story{pool: NewPool(blocks, caching == "on"), leases: map[string]*held{}}
	return s.counts()
}

func (s *story) counts() string {
	p := s.pool
	return fmt.Sprintf("%d active, %d idle, %d free", p.Active(), p.Idle(), p.Size()-p.Active()-p.Idle())
}

func (s *story) take(t *testing.T, td *datadriven.TestData) string {
	l := &held{Lease: Lease{Grows: td.HasArg("grows")}}
	if len(td.CmdArgs) > 1 && td.CmdArgs[1].Vals == nil && td.CmdArgs[1].Key != "grows" {
		l.Words = wordsOf(td.CmdArgs[1].Key)
	}
	limit := int32(len(l.Words))
	td.MaybeScanArgs(t, "limit", &limit)
	h := s.pool.Match(l.Words, limit)
	fresh := int32(len(l.Words)) - h.Blocks
	td.MaybeScanArgs(t, "fresh", &fresh)
	answer := fmt.Sprintf("%s, %d fresh", found(h), fresh)
	if h.Idle+fresh > s.pool.Available() {
		return fmt.Sprintf("%s: %d blocks are needed and %d are there", answer, h.Idle+fresh, s.pool.Available())
	}
	s.pool.Take(&l.Lease, h, fresh)
	l.blocks = h.Blocks + fresh
	s.leases[td.CmdArgs[0].Key] = l
	return answer + "\n" + s.counts()
}

func found(h Hit) string {
	answer := fmt.Sprintf("%d found", h.Blocks)
	if h.Idle > 0 {
		answer += fmt.Sprintf(" (%d of them idle)", h.Idle)
	}
	if h.Growing {
		answer += ", perhaps more if a growing lease registers"
	}
	return answer
}

// lease is the one that the command names.
func (s *story) lease(t *testing.T, td *datadriven.TestData) *held {
	l := s.leases[td.CmdArgs[0].Key]
	if l == nil {
		td.Fatalf(t, "there is no lease %s", td.CmdArgs[0].Key)
	}
	return l
}

func (s *story) grow(t *testing.T, td *datadriven.TestData) string {
	l, n := s.lease(t, td), int32(1)
	td.MaybeScanArgs(t, "n", &n)
	s.pool.Grow(n)
	l.blocks += n
	return s.counts()
}

func (s *story) register(t *testing.T, td *datadriven.TestData) string {
	l := s.lease(t, td)
	var to int32
	td.ScanArgs(t, "to", &to)
	if more, ok := td.Arg("words"); ok {
		l.Words = append(l.Words, wordsOf(more.SingleVal(t))...)
	}
	s.pool.Register(&l.Lease, to)
	return s.counts()
}

func (s *story) release(t *testing.T, td *datadriven.TestData) string {
	l := s.lease(t, td)
	full := l.Registered()
	td.MaybeScanArgs(t, "full", &full)
	s.pool.Release(&l.Lease, l.blocks, full)
	delete(s.leases, td.CmdArgs[0].Key)
	return s.counts()
}

func (s *story) match(t *testing.T, td *datadriven.TestData) string {
	words := wordsOf(td.CmdArgs[0].Key)
	return found(s.pool.Match(words, int32(len(words))))
}

func (s *story) reset(*testing.T, *datadriven.TestData) string {
	s.pool.Reset()
	return s.counts()
}

func (s *story) order(*testing.T, *datadriven.TestData) string {
	p := s.pool
	p.settle()
	var blocks []string
	for c := p.unused.oldest; c != none; c = p.entries[c].newer {
		if p.entries[c].node == none {
			blocks = append(blocks, strings.Fields(strings.Repeat("? ", int(p.entries[c].is.blocks)))...)
			continue
		}
		n := &p.nodes[p.entries[c].node]
		for end := n.hi; end > n.lo; end-- {
			blocks = append(blocks, textOf(n.words[:end]))
		}
	}
	if blocks == nil {
		return "nothing"
	}
	return strings.Join(blocks, " ")
}

func (s *story) tree(*testing.T, *datadriven.TestData) string {
	var b strings.Builder
	s.pool.settle()
	s.branches(&b, root, "")
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}

// branches tells what hangs on a node, in the order of the words.
func (s *story) branches(b *strings.Builder, parent int32, indent string) {
	p := s.pool
	for w := range uint64(256) {
		k := p.find(parent, w)
		if k == 0 {
			continue
		}
		n := &p.nodes[k]
		var refs []string
		for c := n.first; c != none; c = p.entries[c].next {
			refs = append(refs, strconv.Itoa(int(p.entries[c].is.refs)))
		}
		fmt.Fprintf(b, "%s%s refs %s\n", indent, textOf(n.words[n.lo:n.hi]), strings.Join(refs, ", "))
		s.branches(b, k, indent+"  ")
	}
}

// wordsOf reads a.b.c: each letter is a word.
func wordsOf(text string) []uint64 {
	var words []uint64
	for name := range strings.SplitSeq(text, ".") {
		words = append(words, uint64(name[0]))
	}
	return words
}

func textOf(words []uint64) string {
	var names []string
	for _, w := range words {
		names = append(names, string(rune(w)))
	}
	return strings.Join(names, ".")
}

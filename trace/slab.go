package trace

import (
	"strings"

	"github.com/reprise-sim/reprise/token"
)

// Slab is where a reader puts what tasks consist of: a few hundred rows share one
// allocation and become garbage together. In a checking pass, where nothing
// outlives its task, the same memory is used again and again.
type Slab struct {
	nodes    arena[Node]
	edges    arena[Edge]
	sources  arena[string]
	details  arena[Details]
	recorded arena[Recorded]
	ids      arena[uint64]
	tokens   arena[uint32]
	counts   arena[int32]
	bytes    arena[byte]
	seqs     arena[token.Seq]
	text     *strings.Builder // the chunk that new strings go to
	recycle  bool
}

// Number of elements of a chunk.
const (
	nodeChunk = 256
	dataChunk = 1 << 13
)

// newSlab makes a slab. One that is recycled must be emptied before it is used
// again for another task.
func newSlab(recycle bool) *Slab { return &Slab{recycle: recycle} }

// reset lets a recycled slab use its memory again.
func (s *Slab) reset() {
	s.nodes.used, s.edges.used, s.sources.used, s.details.used, s.recorded.used = 0, 0, 0, 0, 0
	s.ids.used, s.tokens.used, s.counts.used, s.bytes.used, s.seqs.used = 0, 0, 0, 0, 0
}

// Nodes are n nodes that extend nothing.
func (s *Slab) Nodes(n int) []Node {
	nodes := s.nodes.take(n, nodeChunk, s.recycle)
	for i := range nodes {
		nodes[i].Extends = -1
	}
	return nodes
}

// Edges are n edges.
func (s *Slab) Edges(n int) []Edge { return s.edges.take(n, nodeChunk, s.recycle) }

// Details are the details of one node.
func (s *Slab) Details() *Details { return &s.details.take(1, nodeChunk, s.recycle)[0] }

// Recorded are the recorded moments of one node.
func (s *Slab) Recorded() *Recorded { return &s.recorded.take(1, nodeChunk, s.recycle)[0] }

// IDs is a copy of block ids.
func (s *Slab) IDs(ids []uint64) []uint64 {
	return s.ids.copy(ids, s.recycle)
}

// Tokens is a copy of token ids.
func (s *Slab) Tokens(ids []uint32) []uint32 {
	return s.tokens.copy(ids, s.recycle)
}

// Counts is a copy of numbers.
func (s *Slab) Counts(ns []int32) []int32 { return s.counts.copy(ns, s.recycle) }

// Bytes is a copy of b.
func (s *Slab) Bytes(b []byte) []byte {
	return s.bytes.copy(b, s.recycle)
}

// Text is b as a string.
func (s *Slab) Text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s.text == nil || s.text.Cap()-s.text.Len() < len(b) {
		if len(b) > dataChunk/8 {
			return string(b)
		}
		s.text = new(strings.Builder)
		s.text.Grow(dataChunk)
	}
	from := s.text.Len()
	s.text.Write(b)
	return s.text.String()[from:]
}

// Seq is a copy of a sequence; what it extends is shared.
func (s *Slab) Seq(q *token.Seq) *token.Seq {
	kept := &s.seqs.take(1, nodeChunk, s.recycle)[0]
	*kept = *q
	return kept
}

// arena hands out the elements of a chunk.
type arena[T any] struct {
	chunk []T
	used  int
}

// take is n zero elements. A new chunk has size elements; what would not leave
// room for others in one gets memory of its own.
func (a *arena[T]) take(n, size int, recycle bool) []T {
	if a.used+n > len(a.chunk) {
		switch {
		case recycle:
			size = max(n, size, 2*len(a.chunk))
		case n > size/2:
			return make([]T, n)
		}
		a.chunk, a.used = make([]T, size), 0
	}
	got := a.chunk[a.used : a.used+n : a.used+n]
	a.used += n
	if recycle {
		clear(got)
	}
	return got
}

// copy is a copy of what; it is not nil.
func (a *arena[T]) copy(what []T, recycle bool) []T {
	if len(what) == 0 {
		return []T{}
	}
	got := a.take(len(what), dataChunk, recycle)
	copy(got, what)
	return got
}

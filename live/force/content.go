package force

import (
	"slices"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// Known is whether all ids of a sequence are in the trace. Nothing but a length is
// known of nil.
func Known(s *token.Seq) bool {
	if s == nil {
		return false
	}
	known := true
	eachLeaf(s, func(l token.Leaf, n int) {
		known = known && (l.Tokens != nil || n == 0)
	})
	return known
}

// IDs are the ids of a sequence of which all are known.
func IDs(s *token.Seq) []uint32 {
	ids := make([]uint32, 0, s.Len())
	eachLeaf(s, func(l token.Leaf, n int) { ids = append(ids, l.Tokens[:n]...) })
	return ids
}

// Largest is the largest explicit id among a node's own tokens: what its prompt adds to
// the one that it extends, and its output. It is −1 if there is none. Those of all
// nodes of a task are those of the task.
func Largest(n *trace.Node) int64 {
	largest := int64(-1)
	look := func(ids []uint32) {
		if len(ids) > 0 {
			largest = max(largest, int64(slices.Max(ids)))
		}
	}
	own := int(n.InputTokens - n.Keep)
	if n.Extends < 0 {
		own = int(n.InputTokens)
	}
	for s := n.Input; s != nil && own > 0; {
		l := s.Leaf()
		look(l.Tokens)
		own -= l.Length
		s, _ = s.Parent()
	}
	if n.Output != nil {
		look(n.Output.Leaf().Tokens)
	}
	return largest
}

// Filler makes ids for tokens of which a trace knows only that some are equal: equal
// blocks get equal ids, wherever they appear, and all else is as good as random. A
// server's prefix cache then finds what the trace says is shared.
type Filler struct {
	from, n uint64
}

// NewFiller makes ids of a vocabulary, 0 if it is not known. The first and the last of
// a vocabulary are left out: single bytes and special tokens stand there.
func NewFiller(vocabulary int) Filler {
	const common = 32_000 // every model that people serve has that many
	if vocabulary <= 0 {
		vocabulary = common
	}
	from, to := uint64(min(256, vocabulary/4)), uint64(vocabulary-vocabulary/10)
	return Filler{from, max(1, to-from)}
}

// Largest is the largest id that it makes.
func (f Filler) Largest() uint32 { return uint32(f.from + f.n - 1) }

// Append appends the ids of a prompt. One of which only the length is known is made
// up as that of its node.
func (f Filler) Append(dst []uint32, n *trace.Node) []uint32 {
	s := n.Input
	if s == nil {
		s = trace.PrivatePrompt(n.ID, int(n.InputTokens))
	}
	eachLeaf(s, func(l token.Leaf, k int) {
		switch {
		case l.Tokens != nil:
			dst = append(dst, l.Tokens[:k]...)
		case l.BlockIDs != nil:
			for j := range k {
				dst = append(dst, f.id(l.Scope, l.BlockIDs[j/l.BlockSize], uint64(j%l.BlockSize)))
			}
		default:
			for j := range k {
				dst = append(dst, f.id(0, l.Stream, uint64(j)))
			}
		}
	})
	return dst
}

// id is the made-up id of token j of something.
func (f Filler) id(scope, of, j uint64) uint32 {
	return uint32(f.from + mix(scope+mix(of+mix(j)))%f.n)
}

// mix is the finaliser of SplitMix64: a bijection that spreads every bit.
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// eachLeaf calls visit for what a sequence is made of, first tokens first, with how
// many tokens of each leaf count.
func eachLeaf(s *token.Seq, visit func(l token.Leaf, n int)) {
	type part struct {
		leaf token.Leaf
		n    int
	}
	var parts []part
	for end := s.Len(); s != nil && end > 0; {
		parent, keep := s.Parent()
		if end > keep {
			parts = append(parts, part{s.Leaf(), end - keep})
			end = keep
		}
		s = parent
	}
	for _, p := range slices.Backward(parts) {
		visit(p.leaf, p.n)
	}
}

package token

import "github.com/zeebo/xxh3"

// hashSeed seeds every content hash (spec/engine.md 4.1).
const hashSeed = 1337

// Seq is an immutable token sequence: the first Keep tokens of a parent followed
// by a leaf of its own. Sequences that extend one another share what they have
// in common, so a task of many turns costs its new tokens only.
//
// The nil *Seq is the empty sequence.
type Seq struct {
	parent *Seq
	keep   int
	leaf   Leaf
}

// Leaf is the part of a sequence that is its own. Exactly one of BlockIDs,
// Tokens and Stream describes its Length tokens; an empty leaf has none.
type Leaf struct {
	// BlockIDs are the trace's ids of blocks of BlockSize tokens, the last one
	// possibly cut. All tokens of a block are the same token. Scope is 0 for ids
	// that are valid everywhere, else the identity of the file or session in
	// which they are.
	BlockIDs  []uint64
	BlockSize int
	Scope     uint64
	// Tokens are explicit token ids.
	Tokens []uint32
	// Stream identifies tokens that are known only by who made them: token j is
	// the pair (Stream, j).
	Stream uint64
	Length int
}

// Blocks is the sequence of length tokens that ids of blockSize tokens describe.
// It panics unless there is exactly one id for each started block. A scope of 0
// means that equal ids are equal content wherever they appear.
func Blocks(ids []uint64, blockSize, length int, scope uint64) *Seq {
	if blockSize <= 0 || length < 0 || len(ids) != (length+blockSize-1)/blockSize {
		panic("token: block ids do not fit the length")
	}
	return &Seq{leaf: Leaf{BlockIDs: ids, BlockSize: blockSize, Scope: scope, Length: length}}
}

// IDs is the sequence of explicit token ids.
func IDs(ids []uint32) *Seq {
	return &Seq{leaf: Leaf{Tokens: ids, Length: len(ids)}}
}

// Stream is a sequence of n tokens that nothing but their maker and position
// identify: generated tokens, or a prompt of which only the length is known.
// Use [Identity] to name the maker.
func Stream(maker uint64, n int) *Seq {
	if n < 0 {
		panic("token: negative length")
	}
	return &Seq{leaf: Leaf{Stream: maker, Length: n}}
}

// Identity turns a name into the number that [Stream] and scopes use. It is
// never 0.
func Identity(name string) uint64 {
	if h := xxh3.HashStringSeed(name, hashSeed); h != 0 {
		return h
	}
	return 1
}

// Extend is the first keep tokens of s followed by all of tail. It panics if s is
// shorter than keep.
func (s *Seq) Extend(keep int, tail *Seq) *Seq {
	if keep < 0 || keep > s.Len() {
		panic("token: keeps more tokens than there are")
	}
	for s != nil && keep <= s.keep { // nothing of s's own leaf is kept
		s = s.parent
	}
	if s == nil {
		keep = 0
	}
	var stack [8]part
	parts := tail.parts(stack[:0])
	if len(parts) == 0 {
		return &Seq{parent: s, keep: keep}
	}
	for _, p := range parts {
		s = &Seq{parent: s, keep: keep, leaf: p.leaf.cut(p.n)}
		keep = s.Len()
	}
	return s
}

// Len is the number of tokens.
func (s *Seq) Len() int {
	if s == nil {
		return 0
	}
	return s.keep + s.leaf.Length
}

// Parent returns the sequence that s extends, nil if none, and how many of its
// tokens s keeps.
func (s *Seq) Parent() (*Seq, int) { return s.parent, s.keep }

// Leaf returns what s adds to its parent. Its slices must not be modified.
func (s *Seq) Leaf() Leaf { return s.leaf }

// cut is the first n tokens of l.
func (l *Leaf) cut(n int) Leaf {
	c := *l
	c.Length = n
	switch {
	case l.BlockIDs != nil:
		c.BlockIDs = l.BlockIDs[:(n+l.BlockSize-1)/l.BlockSize]
	case l.Tokens != nil:
		c.Tokens = l.Tokens[:n]
	}
	return c
}

// part is a stretch of one leaf inside a sequence: its first n tokens.
type part struct {
	leaf *Leaf
	n    int
}

// parts lists what s is made of, first tokens first, reusing buf.
func (s *Seq) parts(buf []part) []part {
	n := s.Len()
	for p := s; p != nil && n > 0; p = p.parent {
		if own := n - p.keep; own > 0 {
			buf = append(buf, part{&p.leaf, own})
			n = p.keep
		}
	}
	for i, j := 0, len(buf)-1; i < j; i, j = i+1, j-1 {
		buf[i], buf[j] = buf[j], buf[i]
	}
	return buf
}

package lineage

import "github.com/reprise-sim/reprise/token"

// blockTokens is the size of the blocks by which contexts are found. What two contexts
// share is found if it is as long, and to the token.
const blockTokens = 16

// Tree is the contexts of calls. It is not safe for concurrent use.
type Tree struct {
	contexts map[int64]*context
	byBlock  map[token.Key]*context // who added the block, which is all before it too
}

// context is the tokens of a call: the first keep of base's, then own.
type context struct {
	seq      int64
	base     *context
	keep     int
	own      []uint32
	children []*context
}

// New is a tree without contexts.
func New() *Tree {
	return &Tree{contexts: map[int64]*context{}, byBlock: map[token.Key]*context{}}
}

func (c *context) len() int { return c.keep + len(c.own) }

// at is the token at position i.
func (c *context) at(i int) uint32 {
	for i < c.keep {
		c = c.base
	}
	return c.own[i-c.keep]
}

// Longest is the call whose context has the longest beginning in common with ids, and
// its length; 0 if none was found. hint is a call to look at if no block of ids is
// known, 0 if there is none.
func (t *Tree) Longest(ids []uint32, hint int64) (base int64, keep int) {
	c, blocks := t.deepest(token.IDs(ids).Keys(nil, blockTokens))
	if c == nil {
		c = t.contexts[hint]
	}
	if c == nil {
		return 0, 0
	}
	if c, keep = c.descend(ids, blocks*blockTokens); keep == 0 {
		return 0, 0
	}
	return c.seq, keep
}

// deepest is who added the last block of the longest beginning that is known.
func (t *Tree) deepest(keys []token.Key) (found *context, blocks int) {
	for i, k := range keys {
		c, ok := t.byBlock[k]
		if !ok {
			break
		}
		found, blocks = c, i+1
	}
	return found, blocks
}

// descend compares ids with c from a position up to which they are equal, then with
// the contexts that extend it, and returns the one that shares most.
func (c *context) descend(ids []uint32, from int) (*context, int) {
	n := from
	for n < min(len(ids), c.len()) && ids[n] == c.at(n) {
		n++
	}
	best := c
	for _, child := range c.children {
		if child.keep > n {
			continue
		}
		if d, m := child.descend(ids, child.keep); m > n {
			best, n = d, m
		}
	}
	return best, n
}

// Add adds the context of a call: the first keep tokens of base's, then own, which the
// tree keeps. It panics if base has fewer.
func (t *Tree) Add(seq, base int64, keep int, own []uint32) {
	c := &context{seq: seq, keep: keep, own: own}
	if keep > 0 {
		c.base = t.contexts[base]
		if c.base == nil || c.base.len() < keep {
			panic("lineage: a context keeps more than there is")
		}
		c.base.children = append(c.base.children, c)
	}
	t.contexts[seq] = c
	t.index(c, keep)
}

// Extend adds tokens to the end of a call's context. It panics if the call is not known.
func (t *Tree) Extend(seq int64, more []uint32) {
	c := t.contexts[seq]
	from := c.len()
	c.own = append(c.own[:len(c.own):len(c.own)], more...)
	t.index(c, from)
}

// index makes the blocks known that a context has behind its first tokens.
func (t *Tree) index(c *context, from int) {
	for i, k := range token.IDs(t.IDs(c.seq)).Keys(nil, blockTokens) {
		if _, ok := t.byBlock[k]; !ok && (i+1)*blockTokens > from {
			t.byBlock[k] = c
		}
	}
}

// IDs is a copy of all tokens of a call's context, nil if the call is not known.
func (t *Tree) IDs(seq int64) []uint32 {
	c, ok := t.contexts[seq]
	if !ok {
		return nil
	}
	ids := make([]uint32, c.len())
	for end := len(ids); c != nil; c = c.base {
		if end > c.keep {
			copy(ids[c.keep:end], c.own)
			end = c.keep
		}
	}
	return ids
}

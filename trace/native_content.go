package trace

import (
	"fmt"

	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// content is tokens as a line gives them.
type content struct {
	kind   Depth // how much is known
	length int32
	ids    []uint64
	tokens []uint32
}

var (
	inputFields  = []string{"extends", "keep", "tokens", "hash_ids", "length"}
	outputFields = []string{"tokens", "length", "finish"}
)

// input reads the tokens that go into a call.
func (r *nativeReader) input(w *nativeRow, slab *Slab) {
	s, c := &r.scan, &w.input
	m := jsonrow.Members{Names: inputFields}
	for s.Open(); s.Member(&m); {
		switch m.Name {
		case "extends":
			w.extends = r.name(slab)
		case "keep":
			w.node.Keep = s.Count(wantCount)
		case "hash_ids":
			r.ids = s.Uint64s(r.ids[:0], wantBlockID)
			c.ids, c.kind = slab.IDs(r.ids), Blocks
		default:
			r.content(m.Name, c, slab)
		}
	}
	switch {
	case m.Has("tokens") && m.Has("hash_ids"):
		s.Fail("hash_ids", "both tokens and hash_ids", "one of the two")
	case m.Has("hash_ids") && !m.Has("length"):
		s.Missing("length", "the number of tokens that hash_ids stand for")
	case m.Has("keep") && !m.Has("extends"):
		s.Missing("extends", "the node whose tokens are kept")
	}
	r.settle(c, &m, m.Has("extends"))
	r.fit(w)
}

// output reads the tokens that come out of a call.
func (r *nativeReader) output(w *nativeRow, slab *Slab) {
	s := &r.scan
	m := jsonrow.Members{Names: outputFields}
	for s.Open(); s.Member(&m); {
		if m.Name != "finish" {
			r.content(m.Name, &w.output, slab)
			continue
		}
		if w.node.Details == nil {
			w.node.Details = slab.Details()
		}
		w.node.Details.Finish = slab.Text(s.Text(wantText))
	}
	r.settle(&w.output, &m, false)
}

// content reads tokens or their number.
func (r *nativeReader) content(name string, c *content, slab *Slab) {
	switch name {
	case "tokens":
		r.tokens = r.scan.Uint32s(r.tokens[:0], wantTokenID)
		c.tokens, c.kind = slab.Tokens(r.tokens), Tokens
	case "length":
		c.length = r.scan.Count(wantCount)
	}
}

// settle makes sure that the length of the content is known and right.
func (r *nativeReader) settle(c *content, m *jsonrow.Members, optional bool) {
	switch listed := len(c.tokens); {
	case c.kind != Tokens:
		if !optional && !m.Has("length") {
			r.scan.Missing("length", "tokens or their number")
		}
	case m.Has("length") && int(c.length) != listed:
		r.scan.Fail("tokens", jsonrow.Plural(listed, "id"), fmt.Sprintf("%d: the length", c.length))
	default:
		c.length = int32(listed)
	}
}

// fit makes sure that there are as many block ids as the tokens have blocks.
func (r *nativeReader) fit(w *nativeRow) {
	if w.input.kind != Blocks || r.scan.Fault() != nil {
		return
	}
	h := r.format.heads[w.at.File]
	size := int64(h.BlockSize)
	if size == 0 {
		r.scan.Fail("hash_ids", jsonrow.Plural(len(w.input.ids), "id"), "none: the header has no block_size")
		return
	}
	blocks, which := (int64(w.input.length)+size-1)/size, "started"
	if h.IDsCover == CoverFull {
		blocks, which = int64(w.input.length)/size, "full"
	}
	if int64(len(w.input.ids)) != blocks {
		r.scan.Fail("hash_ids", jsonrow.Plural(len(w.input.ids), "id"),
			fmt.Sprintf("%d: one for each %s block of %d tokens in %d", blocks, which, size, w.input.length))
	}
}

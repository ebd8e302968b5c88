package trace

import (
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// input writes what goes into a call.
func (w *Writer) input(t *Task, n *Node) {
	w.line.Open("input", '{')
	if n.Extends >= 0 {
		w.line.Text("extends", t.Nodes[n.Extends].ID)
		w.line.Int("keep", int64(n.Keep))
	}
	own := n.InputTokens - n.Keep
	if n.Input != nil && n.Input.Len() != int(n.InputTokens) || own < 0 {
		w.line.Refuse("input: %d tokens of content, %d kept, expected %d in all", n.Input.Len(), n.Keep, n.InputTokens)
		return
	}
	if own > 0 || n.Extends < 0 {
		w.own(t, n, int(own))
	}
	w.line.Shut('}')
}

// own writes the own tokens of a call's prompt: those behind the kept ones.
func (w *Writer) own(t *Task, n *Node, own int) {
	pieces, err := piecesOf(n.Input, int(n.Keep))
	if err != nil {
		w.line.Refuse("input: %w", err)
	}
	blocks, hidden := token.Leaf{}, 0
	switch k := len(pieces); {
	case k > 0 && isPrivate(n, pieces[k-1]):
		hidden = pieces[k-1].Length
		if k == 2 {
			blocks = pieces[0]
		}
		if k > 2 || k == 2 && blocks.BlockIDs == nil {
			w.line.Refuse("input: tokens of different kinds")
		}
	case k == 1 && pieces[0].BlockIDs != nil:
		blocks = pieces[0]
	case k > 0:
		w.explicit(pieces)
		return
	}
	if blocks.BlockIDs != nil {
		where := n.Session
		if where == "" {
			where = t.ID
		}
		w.blocks(&blocks, hidden, where)
	}
	w.line.Int("length", int64(own))
}

// isPrivate is whether a piece is what its node alone knows.
func isPrivate(n *Node, piece token.Leaf) bool {
	return piece.BlockIDs == nil && piece.Tokens == nil && piece.Stream == PrivatePrompt(n.ID, 0).Leaf().Stream
}

// explicit writes token ids.
func (w *Writer) explicit(pieces []token.Leaf) {
	ids := pieces[0].Tokens
	for _, p := range pieces[1:] {
		ids = slices.Concat(ids, p.Tokens)
	}
	if slices.ContainsFunc(pieces, func(p token.Leaf) bool { return p.Tokens == nil }) {
		w.line.Refuse("input: tokens of different kinds or of another node")
	}
	jsonrow.List(&w.line, "tokens", ids)
}

// blocks writes block ids; hidden tokens follow that have none.
func (w *Writer) blocks(l *token.Leaf, hidden int, where string) {
	h := &w.header
	switch {
	case l.BlockSize != h.BlockSize:
		w.line.Refuse("hash_ids: blocks of %d tokens, expected %d as the header says", l.BlockSize, h.BlockSize)
	case h.IDsCover == CoverFull && (l.Length%l.BlockSize != 0 || hidden >= l.BlockSize):
		w.line.Refuse("hash_ids: they cover %d tokens and not %d more, expected all full blocks", l.Length, hidden)
	case h.IDsCover != CoverFull && hidden > 0:
		w.line.Refuse("hash_ids: they do not cover the last %d tokens", hidden)
	}
	w.scope(l.Scope, where)
	jsonrow.List(&w.line, "hash_ids", l.BlockIDs)
}

// scope makes sure that block ids are valid where the header says they are: a reader
// would take ids of two files for the same if they came to stand in one.
func (w *Writer) scope(scope uint64, session string) {
	switch w.header.IDs {
	case IDsFile:
		session = ""
	case IDsSession:
	default:
		if scope != 0 {
			w.line.Refuse("hash_ids: they are valid in one file or session, expected everywhere as the header says")
		}
		return
	}
	known, ok := w.scopes[session]
	if scope == 0 || ok && scope != known {
		w.line.Refuse("hash_ids: they are valid in more than one %s, expected one as the header says", w.header.IDs)
	}
	w.scopes[session] = scope
}

// output writes what comes out of a call.
func (w *Writer) output(n *Node, finish string) {
	w.line.Open("output", '{')
	var l token.Leaf
	if n.Output != nil {
		l = n.Output.Leaf()
	}
	switch {
	case n.Output != nil && n.Output.Len() != int(n.OutputTokens):
		w.line.Refuse("output: %d tokens of content, expected %d", n.Output.Len(), n.OutputTokens)
	case l.Tokens != nil:
		jsonrow.List(&w.line, "tokens", l.Tokens)
	case l.BlockIDs != nil || n.Output != nil && l.Stream != Generated(n.ID, 0).Leaf().Stream:
		w.line.Refuse("output: tokens of another node")
	default:
		w.line.Int("length", int64(n.OutputTokens))
	}
	w.line.Optional("finish", finish)
	w.line.Shut('}')
}

// piecesOf lists what s is made of behind its first keep tokens, first tokens first.
func piecesOf(s *token.Seq, keep int) ([]token.Leaf, error) {
	var pieces []token.Leaf
	for end := s.Len(); s != nil && end > keep; {
		parent, from := s.Parent()
		piece, err := cut(s.Leaf(), max(keep-from, 0), end-from)
		if err != nil {
			return nil, err
		}
		if piece.Length > 0 {
			pieces = append([]token.Leaf{piece}, pieces...)
		}
		s, end = parent, min(end, from)
	}
	return pieces, nil
}

// cut is the tokens from up to to of a leaf.
func cut(l token.Leaf, from, to int) (token.Leaf, error) {
	l.Length = to - from
	switch {
	case from == to:
	case l.Tokens != nil:
		l.Tokens = l.Tokens[from:to]
	case l.BlockIDs != nil && from%l.BlockSize == 0:
		l.BlockIDs = l.BlockIDs[from/l.BlockSize : (to+l.BlockSize-1)/l.BlockSize]
	case from > 0:
		return l, fmt.Errorf("it begins %d tokens into something that cannot be cut", from)
	}
	return l, nil
}

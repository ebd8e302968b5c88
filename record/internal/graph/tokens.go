package graph

import (
	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/token"
)

// context is the tokens of a call as far as their ids are known: prompt, and output if
// its ids are known too.
type context struct {
	input, whole *token.Seq
	base         *item // call whose context the prompt keeps
	keep         int32
}

// tokens finds the tokens of all calls and how long they are.
func (b *builder) tokens() {
	for _, it := range b.all {
		c := it.call
		it.inputTokens, it.outputTokens = c.Input, c.Output
		ids := b.ids[c.Seq]
		if ids == nil {
			continue
		}
		if ctx := b.context(c.Seq); ctx != nil {
			it.input, it.inputTokens = ctx.input, int32(ctx.input.Len())
			it.extends, it.keep = ctx.base, ctx.keep
		}
		if ids.OutputFrom != "" {
			output := journal.Unpack(ids.Output)
			it.output, it.outputTokens = token.IDs(output), int32(len(output))
		}
	}
}

// from is where the ids of a call's prompt and output are from, "" for those that it
// does not have.
func (b *builder) from(it *item) (input, output string) {
	ids := b.ids[it.call.Seq]
	if ids != nil && it.input != nil {
		input = ids.InputFrom
	}
	if ids != nil && it.output != nil {
		output = ids.OutputFrom
	}
	return input, output
}

// context is the tokens of a call, nil if its prompt has no ids or what it goes on
// from is not there.
func (b *builder) context(seq int64) *context {
	if c, ok := b.contexts[seq]; ok {
		return c
	}
	b.contexts[seq] = nil // a journal in which calls keep each other's tokens is broken
	ids, it := b.ids[seq], b.bySeq[seq]
	if ids == nil || it == nil || ids.InputFrom == "" {
		return nil
	}
	c := &context{}
	var before *token.Seq
	if ids.Base != 0 && ids.Keep > 0 {
		base := b.context(ids.Base)
		if base == nil || base.whole.Len() < int(ids.Keep) {
			return nil
		}
		before, c.base, c.keep = base.whole, b.bySeq[ids.Base], ids.Keep
	}
	c.input = before.Extend(int(c.keep), token.IDs(journal.Unpack(ids.Own)))
	c.whole = c.input
	if ids.OutputFrom != "" {
		c.whole = c.input.Extend(c.input.Len(), token.IDs(journal.Unpack(ids.Output)))
	}
	b.contexts[seq] = c
	return c
}

// goOn finds the call of the task whose tokens the prompt keeps. The journal knows one
// of the whole recording; if that is in another task or not in the trace, it is the
// call that this one follows, as far as the tokens are the same.
func (b *builder) goOn(it *item) {
	if o := it.extends; o != nil && o.family == it.family && o.start < it.start {
		return
	}
	it.extends, it.keep = nil, 0
	o := b.followed(it)
	if o == nil {
		return
	}
	if it.input == nil {
		if o.input == nil {
			it.extends, it.keep = o, kept(it, o)
		}
		return
	}
	if n := common(b.contexts[it.call.Seq].input, b.contexts[o.call.Seq]); n > 0 {
		it.extends, it.keep = o, n
	}
}

// followed is the call that a call goes on from, through tool runs and waits.
func (b *builder) followed(it *item) (found *item) {
	for _, l := range it.after {
		o := l.from
		for o != nil && o.call == nil {
			if len(o.after) == 0 {
				o = nil
			} else {
				o = o.after[0].from
			}
		}
		if o != nil && o.session == it.session && (found == nil || o.end > found.end) {
			found = o
		}
	}
	return found
}

// kept is how many tokens a prompt without ids keeps of the call that it goes on from.
// A request that repeats a conversation keeps its prompt; if it also repeats the
// answer, word by word, it keeps that.
func kept(it, o *item) int32 {
	switch it.evidence {
	case Said, ToolIDs, Response:
		return min(o.inputTokens+o.outputTokens, it.inputTokens)
	case Talked:
		return min(o.inputTokens, it.inputTokens)
	}
	return 0
}

// common is the length of the common beginning of a prompt and a context.
func common(input *token.Seq, of *context) int32 {
	if of == nil {
		return 0
	}
	a, b := flat(input), flat(of.whole)
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return int32(n)
}

// flat is the ids of a sequence that is made of ids.
func flat(s *token.Seq) []uint32 {
	ids := make([]uint32, s.Len())
	for end := len(ids); s != nil && end > 0; {
		parent, from := s.Parent()
		if end > from {
			copy(ids[from:end], s.Leaf().Tokens)
			end = from
		}
		s = parent
	}
	return ids
}

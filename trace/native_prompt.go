package trace

import (
	"fmt"
	"math"
	"strings"

	"github.com/reprise-sim/reprise/token"
)

// fill gives node i its input and output.
func (r *nativeReader) fill(w *nativeRow, t *Task, i int, slab *Slab) error {
	n := &t.Nodes[i]
	n.InputTokens, n.OutputTokens = w.input.length, w.output.length
	if w.output.kind == Tokens {
		n.Output = slab.Seq(token.IDs(w.output.tokens))
	}
	if w.extends == "" {
		r.prompts[w.input.kind]++
		if w.input.kind != Lengths {
			n.Input = r.prompt(nil, 0, w, slab)
		}
		return nil
	}
	n.Extends = r.nodeOf[r.rowNamed(w.extends)]
	if err := keepable(w, &t.Nodes[n.Extends]); err != nil {
		return err
	}
	if w.input.length > 0 {
		r.prompts[w.input.kind]++
	}
	n.InputTokens += n.Keep
	n.Input = r.prompt(r.context(t, n.Extends, n.Keep, slab), int(n.Keep), w, slab)
	return nil
}

// keepable makes sure that from has the tokens that w keeps of it.
func keepable(w *nativeRow, from *Node) error {
	keep, own := int64(w.node.Keep), int64(w.input.length)
	switch there := int64(from.InputTokens) + int64(from.OutputTokens); {
	case from.Kind != LLM:
		return w.at.Fault("input.extends", from.ID, "a node of kind llm")
	case keep > there:
		return w.at.Fault("input.keep", fmt.Sprint(keep), fmt.Sprintf("at most %d: the input and output of %s", there, from.ID))
	case keep+own > math.MaxInt32:
		return w.at.Fault("input", fmt.Sprintf("%d + %d tokens", keep, own), "at most 2147483647")
	}
	return nil
}

// context is a sequence that begins with the first keep tokens of the input and
// output of node i. What is known by its length only becomes tokens of the node.
func (r *nativeReader) context(t *Task, i, keep int32, slab *Slab) *token.Seq {
	n := &t.Nodes[i]
	if n.Input == nil {
		n.Input = slab.Seq(PrivatePrompt(n.ID, int(n.InputTokens)))
	}
	if keep <= n.InputTokens {
		return n.Input
	}
	if n.Output == nil {
		n.Output = slab.Seq(Generated(n.ID, int(n.OutputTokens)))
	}
	if r.contexts[i] == nil {
		r.contexts[i] = n.Input.Extend(n.Input.Len(), n.Output)
	}
	return r.contexts[i]
}

// prompt is the first keep tokens of context and a row's own tokens.
func (r *nativeReader) prompt(context *token.Seq, keep int, w *nativeRow, slab *Slab) *token.Seq {
	c := &w.input
	length := int(c.length)
	switch c.kind {
	case Tokens:
		return extend(context, keep, token.IDs(c.tokens), slab)
	case Blocks:
		size := r.format.heads[w.at.File].BlockSize
		covered := min(length, len(c.ids)*size)
		prompt := extend(context, keep, token.Blocks(c.ids, size, covered, r.scope(w)), slab)
		if covered < length {
			prompt = prompt.Extend(keep+covered, PrivatePrompt(w.node.ID, length-covered))
		}
		return prompt
	}
	return extend(context, keep, PrivatePrompt(w.node.ID, length), slab)
}

// extend is the first keep tokens of context, which is nil if there is none,
// followed by a leaf.
func extend(context *token.Seq, keep int, leaf *token.Seq, slab *Slab) *token.Seq {
	if context == nil {
		return slab.Seq(leaf)
	}
	return context.Extend(keep, leaf)
}

// scope is where a row's block ids are valid.
func (r *nativeReader) scope(w *nativeRow) uint64 {
	switch r.format.heads[w.at.File].IDs {
	case IDsFile:
		return w.at.File.Scope()
	case IDsSession:
		if w.node.Session == "" {
			return SessionScope(w.at.File, w.task)
		}
		return SessionScope(w.at.File, w.node.Session)
	}
	return 0
}

// Describe says what the header says, and how much is known of the prompts.
func (r *nativeReader) Describe(h *Header, report *Report) error {
	f := r.format
	source := h.Source
	*h = f.heads[f.first]
	if len(report.Files) > 1 {
		h.Source = source
	}
	switch {
	case r.prompts[Blocks] > 0:
		h.Depth = Blocks
	case r.prompts[Tokens] > 0:
		h.Depth = Tokens
	}
	if len(f.missing) > 0 {
		h.Incomplete = strings.Join(f.missing, "; ")
		report.Notes = append(report.Notes, "the recording is incomplete: "+h.Incomplete)
	}
	if n := r.prompts[Lengths]; n > 0 && h.Depth != Lengths {
		report.Notes = append(report.Notes, fmt.Sprintf("%d of %d prompts are known by their length only: what is new in them is shared with nobody", n, report.Calls))
	}
	return nil
}

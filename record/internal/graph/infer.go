package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// infer concludes what a call waited for, since nobody said it.
func (b *builder) infer(it *item) {
	before, evidence := b.index.before(it, it.family)
	spawned := b.spawnedBy(it)
	switch {
	case before == nil && spawned != nil:
		it.evidence = Stated
		it.wait(false, spawned)
		return
	case before == nil:
		before, evidence = b.latest(it), Order
	}
	if before == nil {
		it.evidence = First
		return
	}
	it.evidence = evidence
	b.index.follows(before)
	ends := b.openEnds(it, before)
	between := b.between(it, before, ends)
	if len(between)+len(ends) == 0 {
		between = []*item{before}
	}
	it.wait(true, append(ends, between...)...)
	if len(it.after) == 0 {
		it.wait(true, before)
	}
}

// latest is the last call that had ended: of its own session, else of the one that
// started it, else of the family.
func (b *builder) latest(it *item) (found *item) {
	rank := func(o *item) int {
		switch o.session {
		case it.session:
			return 2
		case b.families.parents[it.session]:
			return 1
		}
		return 0
	}
	for _, o := range it.family.calls {
		if o.end > it.start {
			continue
		}
		if found == nil || rank(o) > rank(found) || rank(o) == rank(found) && o.end >= found.end {
			found = o
		}
	}
	return found
}

// openEnds are the calls of the family that nothing has waited for, that began when
// before was over and had ended when it started: sub-agents whose work it takes up.
// Runs of tools that the agent has marked count as well.
func (b *builder) openEnds(it, before *item) (ends []*item) {
	for _, o := range it.family.calls {
		if o != before && o.open && o.start >= before.end && o.end <= it.start {
			ends = append(ends, o)
		}
	}
	for _, o := range it.family.tools {
		if o.open && o.ended && o.session == it.session && o.start >= before.start && o.end <= it.start {
			ends = append(ends, o)
		}
	}
	return ends
}

// between are the tool runs and waits that lay between two calls, as far as the
// request shows them: one run for each tool result that is new in it, or a person's
// pause if there is something new that a person said. A proxy sees only when all
// results were there, so each run lasts that long at most (spec/live.md D.3). Where the
// agent has marked the runs, or where other calls have ended meanwhile whose work a
// single result may be, there are none.
func (b *builder) between(it, before *item, ends []*item) []*item {
	t, joined := it.call.Talk, len(ends) > 0
	if t == nil || slices.ContainsFunc(ends, func(o *item) bool { return o.kind == trace.Tool }) {
		return nil
	}
	var runs []*item
	for _, id := range t.Answers {
		if i := issued(before, id); i >= 0 {
			runs = append(runs, b.run(it, before, i))
		}
	}
	switch {
	case joined && len(runs) <= 1:
		return nil
	case len(runs) > 0:
		for _, r := range runs {
			b.keep(r)
		}
		return runs
	case !joined && newUser(before.call.Talk, t):
		w := &item{kind: trace.Think, id: before.id + "/w", session: it.session, family: it.family, start: before.end, end: it.start}
		w.wait(true, before)
		b.keep(w)
		return []*item{w}
	}
	return nil
}

// issued is the number of the tool call id in the answer of a call, -1 if it is not
// there.
func issued(o *item, id string) int {
	if o.call.Talk != nil {
		for i, t := range o.call.Talk.Tools {
			if t.ID == id && id != "" {
				return i
			}
		}
	}
	return -1
}

// run is the run of tool call i of before, whose result it holds.
func (b *builder) run(it, before *item, i int) *item {
	t := &before.call.Talk.Tools[i]
	r := &item{
		kind: trace.Tool, id: fmt.Sprintf("%s/t%d", before.id, i), name: t.Name, session: it.session, family: it.family,
		start: before.end, end: it.start, args: t.Args, result: resultOf(it.call.Talk, t.ID),
	}
	r.wait(true, before)
	return r
}

// keep makes a node of an item that has been concluded.
func (b *builder) keep(it *item) {
	b.claim(it)
	b.put(it)
}

// newUser is whether a person has said something since before's answer.
func newUser(before, now *journal.Talk) bool {
	if before == nil || len(now.Roles) <= len(before.Roles) {
		return false
	}
	return strings.ContainsRune(now.Roles[len(before.Roles):], 'u')
}

package synth

import (
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// author turns plans into tasks: it gives the tokens their identity.
type author struct {
	spec   Spec
	unique uint64 // next block id that no task has
}

// task writes down a plan. Calls are named <task>/<turn>; a task of several calls
// is a session with its name.
func (a *author) task(id string, p *plan) *trace.Task {
	t := &trace.Task{ID: id, ReleaseMs: p.releaseMs, Nodes: make([]trace.Node, len(p.turns))}
	for i, turn := range p.turns {
		n := &t.Nodes[i]
		*n = trace.Node{
			ID:           id + "/" + strconv.Itoa(i),
			Kind:         trace.LLM,
			Turn:         int32(i),
			OutputTokens: turn.output,
			Extends:      -1,
		}
		if len(p.turns) > 1 {
			n.Session = id
		}
		if i == 0 {
			n.Input = a.opening(turn.input, p.group)
		} else {
			n.After = []trace.Edge{{From: int32(i - 1), Trigger: trace.Completion, DelayMs: turn.thinkMs}}
			n.Extends = int32(i - 1)
			n.Input, n.Keep = a.continuation(&t.Nodes[i-1], turn.input)
		}
		n.InputTokens = int32(n.Input.Len())
		if a.spec.KeepOutput {
			n.Output = token.Stream(token.Identity(n.ID), int(turn.output))
		}
	}
	return t
}

// opening is the first prompt of a task: the system prefix and input tokens, of
// whose blocks the leading ones are those of the group. A last block that is cut
// short is never the group's, so that what follows it stays the task's own.
func (a *author) opening(input int32, group uint64) *token.Seq {
	size := int32(a.spec.BlockSize)
	system := int32(a.spec.SystemPrefixTokens)
	own := blocks(input, size)
	shared := min(int32(math.Round(float64(own)*a.spec.SharedPrefixRatio)), input/size)

	ids := make([]uint64, 0, system/size+own)
	for b := range system / size {
		ids = append(ids, systemID(b))
	}
	for b := range shared {
		ids = append(ids, groupID(group, b))
	}
	ids = a.fresh(ids, own-shared)
	return token.Blocks(ids, int(size), int(system+input), 0)
}

// continuation is the prompt of a turn that adds input tokens to its predecessor's
// context, and how many tokens of that context it takes over as they are.
//
// Without outputs every prompt is a list of block ids from its beginning: a block
// that the prompt before cut short goes on under the same id. Behind an output, new
// blocks begin where it ends.
func (a *author) continuation(before *trace.Node, input int32) (prompt *token.Seq, keep int32) {
	size := int32(a.spec.BlockSize)
	if a.spec.KeepOutput {
		keep = before.InputTokens + before.OutputTokens
		context := before.Input.Extend(int(before.InputTokens), before.Output)
		ids := a.fresh(nil, blocks(input, size))
		return context.Extend(int(keep), token.Blocks(ids, int(size), int(input), 0)), keep
	}
	var ids []uint64
	cut := before.InputTokens % size
	if cut > 0 {
		last := before.Input.Leaf().BlockIDs
		ids = append(ids, last[len(last)-1])
	}
	keep = before.InputTokens - cut
	ids = a.fresh(ids, blocks(cut+input, size)-int32(len(ids)))
	return before.Input.Extend(int(keep), token.Blocks(ids, int(size), int(cut+input), 0)), keep
}

// fresh appends n ids that no block of the trace has.
func (a *author) fresh(ids []uint64, n int32) []uint64 {
	for range n {
		ids = append(ids, a.unique)
		a.unique++
	}
	return ids
}

package cluster

import (
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

// view is a cluster as its placement sees it at the instant of a decision. A look
// at an instance advances it.
type view struct {
	c         *Cluster
	blockSize int
	price     func(tokens int64) (float64, bool)

	r     *routing.Request
	nowMs float64
	err   error

	// What is known of the prompt, once it has been asked for.
	words     []uint64
	prefix    []int32
	predicted int32
	keys      []token.Key
	hasWords  bool
	hasPrefix bool
}

// turnTo makes it the view for another decision.
func (v *view) turnTo(r *routing.Request, nowMs float64) {
	v.r, v.nowMs = r, nowMs
	v.words, v.hasWords, v.hasPrefix = v.words[:0], false, false
}

// Len implements [routing.View].
func (v *view) Len() int { return len(v.c.instances) }

// Draining implements [routing.View].
func (v *view) Draining(i int) bool { return v.c.instances[i].draining }

// seen is the load of an instance, which stays as it is until untilMs unless somebody
// touches the instance.
type seen struct {
	load    engine.Load
	untilMs float64
}

// Load implements [routing.View].
func (v *view) Load(i int) engine.Load {
	s := &v.c.seen[i]
	if v.nowMs >= s.untilMs {
		in := v.look(i)
		s.load, s.untilMs = in.Load(v.nowMs), in.stillUntilMs()
	}
	return s.load
}

// look advances an instance to the decision.
func (v *view) look(i int) *Instance {
	in := v.c.instances[i]
	if err := in.AdvanceTo(v.nowMs); err != nil && v.err == nil {
		v.err = err
	}
	v.c.touch(i)
	return in
}

// BlockSize implements [routing.View].
func (v *view) BlockSize() int { return v.blockSize }

// Keys implements [routing.View].
func (v *view) Keys(most int) []token.Key {
	if v.r.Prompt == nil {
		return nil
	}
	v.keys = v.r.Prompt.FirstKeys(v.keys[:0], v.blockSize, most)
	return v.keys
}

// content is the words of the prompt's full blocks; none if it is unknown.
func (v *view) content() []uint64 {
	if !v.hasWords && v.r.Prompt != nil {
		v.words = v.r.Prompt.Words(v.words, v.blockSize)
	}
	v.hasWords = true
	return v.words
}

// findable is how many leading blocks of the prompt others may hold: one token is left
// to compute, and what is unknown nobody can name.
func (v *view) findable() int32 {
	return min(routing.MaxPrefix(v.r.InputTokens, v.blockSize), int32(len(v.content())))
}

// Prefix implements [routing.View].
func (v *view) Prefix() []int32 {
	v.lookUp()
	return v.prefix
}

// Predicted implements [routing.View].
func (v *view) Predicted() int32 {
	v.lookUp()
	return v.predicted
}

// lookUp asks the meta store, once for all instances.
func (v *view) lookUp() {
	if v.hasPrefix {
		return
	}
	v.hasPrefix = true
	t := v.c.tiers
	if t == nil {
		clear(v.prefix)
		v.predicted = 0
		return
	}
	if err := t.sync(v.nowMs, nil); err != nil && v.err == nil {
		v.err = err
	}
	all := t.dir.Prefix(v.prefix, v.content(), v.findable(), v.nowMs)
	if v.predicted = all; !t.Remote {
		v.predicted = slices.Max(v.prefix)
	}
}

// Resident implements [routing.View].
func (v *view) Resident(i int, prompt *token.Seq) int {
	in := v.look(i)
	tokens := in.Resident(prompt)
	if v.c.tiers == nil {
		return tokens
	}
	blocks := int32(tokens / v.blockSize)
	return tokens + int(v.c.tiers.dir.InHost(in.id, v.content(), blocks, v.findable()))*v.blockSize
}

// PrefillMs implements [routing.View].
func (v *view) PrefillMs(tokens int64) (float64, bool) { return v.price(tokens) }

// Remote implements [routing.View].
func (v *view) Remote() bool { return v.c.tiers != nil && v.c.tiers.Remote }

// RemoteMs implements [routing.View].
func (v *view) RemoteMs(blocks int32) float64 {
	if blocks == 0 || !v.Remote() {
		return 0
	}
	return v.c.tiers.Wires.remoteMs(blocks)
}

package routingtest

import (
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

// View is a bucket of len(Loads) targets. The zero value of each other field stands
// for nothing known, held or possible.
type View struct {
	Loads []engine.Load // by target
	Away  []int         // targets that take no requests

	Block     int         // tokens of a KV block; 0: 64
	BlockKeys []token.Key // of the prompt's full blocks
	Prefixes  []int32     // blocks of the prompt that each target owns by the meta store
	Known     int32       // blocks of it that they own together; never less than the longest of Prefixes
	Held      []int       // tokens of it that each target really holds

	Price func(tokens int64) float64 // of a prefill, ms; nil: unknown
	Fetch func(blocks int32) float64 // from another target, ms; nil: remote fetch is off

	Asked []int // targets that were asked what they hold, in order
}

var _ routing.View = (*View)(nil)

// Len implements [routing.View].
func (v *View) Len() int { return len(v.Loads) }

// Draining implements [routing.View].
func (v *View) Draining(target int) bool { return slices.Contains(v.Away, target) }

// Load implements [routing.View].
func (v *View) Load(target int) engine.Load { return v.Loads[target] }

// BlockSize implements [routing.View].
func (v *View) BlockSize() int {
	if v.Block == 0 {
		return 64
	}
	return v.Block
}

// Keys implements [routing.View].
func (v *View) Keys(most int) []token.Key { return v.BlockKeys[:min(most, len(v.BlockKeys))] }

// Prefix implements [routing.View].
func (v *View) Prefix() []int32 {
	if v.Prefixes == nil {
		return make([]int32, len(v.Loads))
	}
	return v.Prefixes
}

// Predicted implements [routing.View].
func (v *View) Predicted() int32 { return slices.Max(append([]int32{v.Known}, v.Prefixes...)) }

// Resident implements [routing.View].
func (v *View) Resident(target int, _ *token.Seq) int {
	v.Asked = append(v.Asked, target)
	if v.Held == nil {
		return 0
	}
	return v.Held[target]
}

// PrefillMs implements [routing.View].
func (v *View) PrefillMs(tokens int64) (float64, bool) {
	if v.Price == nil {
		return 0, false
	}
	return v.Price(tokens), true
}

// Remote implements [routing.View].
func (v *View) Remote() bool { return v.Fetch != nil }

// RemoteMs implements [routing.View].
func (v *View) RemoteMs(blocks int32) float64 { return v.Fetch(blocks) }

package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/setting"
)

// Policy is a routing policy by name; New is how it is made.
type Policy[New any] struct {
	Mode string
	Doc  string   // one line for `reprise catalog routers`
	Keys []string // settings that it uses
	New  New
}

// LocalPolicy chooses the target inside a bucket. New makes one for valid settings;
// the draws are its own, and it draws none before it is asked to place.
type LocalPolicy = Policy[func(s Settings, draws *arrival.Rand) Placement]

// GlobalPolicy chooses the bucket. New makes one for valid settings.
type GlobalPolicy = Policy[func(s GlobalSettings) GlobalRouter]

// Register adds a local policy. It is called from init functions.
func Register(p LocalPolicy) { locals.add(p) }

// RegisterGlobal adds a global policy. It is called from init functions.
func RegisterGlobal(p GlobalPolicy) { globals.add(p) }

// Policies lists the local policies by name.
func Policies() []LocalPolicy { return slices.Clone(locals) }

// GlobalPolicies lists the global policies by name.
func GlobalPolicies() []GlobalPolicy { return slices.Clone(globals) }

// New makes the placement of one bucket that valid settings name. Draws are those
// of the run's seed, the same stream from its start in every bucket (spec/buckets.md
// 5.1).
func New(s Settings, seed uint64) Placement {
	return locals.mustFind(s.Mode).New(s, arrival.NewRand(seed, "local_router"))
}

// NewGlobal makes the global router that valid settings name.
func NewGlobal(s GlobalSettings) GlobalRouter { return globals.mustFind(s.Mode).New(s) }

var (
	locals  registry[func(Settings, *arrival.Rand) Placement]
	globals registry[func(GlobalSettings) GlobalRouter]
)

// registry holds policies by name.
type registry[New any] []Policy[New]

func (g *registry[New]) add(p Policy[New]) {
	if g.find(p.Mode) != nil {
		panic("routing: two policies are called " + p.Mode)
	}
	*g = append(*g, p)
	slices.SortFunc(*g, func(a, b Policy[New]) int { return cmp.Compare(a.Mode, b.Mode) })
}

// find is the policy of that name, nil if there is none.
func (g registry[New]) find(mode string) *Policy[New] {
	for i := range g {
		if g[i].Mode == mode {
			return &g[i]
		}
	}
	return nil
}

func (g registry[New]) mustFind(mode string) *Policy[New] {
	p := g.find(mode)
	if p == nil {
		panic("routing: no policy is called " + mode)
	}
	return p
}

// check notes a problem unless a policy has that name.
func (g registry[New]) check(mode string, p *setting.Problems) {
	var known []string
	for i := range g {
		known = append(known, g[i].Mode)
	}
	p.Check(g.find(mode) != nil, "mode", mode, "one of "+strings.Join(setting.Nearest(mode, known), ", "))
}

// without is an error if the policy of that name needs something that is missing.
func (g registry[New]) without(mode string, missing Needs, needs func(*Policy[New]) Needs) error {
	lacks := needs(g.mustFind(mode)) & missing
	if lacks == 0 {
		return nil
	}
	var modes []string
	for i := range g {
		if needs(&g[i])&missing == 0 {
			modes = append(modes, g[i].Mode)
		}
	}
	return &setting.Error{Field: "mode", Value: mode, Want: fmt.Sprintf(
		"a mode that does without %s, which this run has not: one of %s", lacks.words(), strings.Join(modes, ", "))}
}

package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "prefix_affinity",
		Doc:  "the instance that owns the first blocks of the prompt",
		Keys: []string{"prefix_k", "load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(&PrefixAffinity{K: s.PrefixK, LoadAlpha: s.LoadAlpha}, Views|Keys)
		},
	})
}

// PrefixAffinity sends prompts that begin alike to one instance: the first of the
// rendezvous ranking (see [SessionAffinity]) of
//
//	key = XXH3-64 (seed 1337) of the keys of the first K blocks, of all if they are fewer
//
// 8 bytes little-endian each (spec/buckets.md 5, 5.1). A prompt without a full block
// has no key and goes to the smallest [Load], then the smaller id: reason
// no_full_block.
//
// It needs no meta store and never asks who holds what. Prompts that share fewer than
// K blocks are strangers to it, and a popular prefix has one instance only.
type PrefixAffinity struct {
	K         int     // blocks of the prompt that make the key, at least 1
	LoadAlpha float64 // weight of a request in load(i)

	order rendezvous
}

// RouteInstance implements [LocalRouter].
func (p *PrefixAffinity) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	keys := v.Keys(p.K)
	if len(keys) == 0 {
		best := NewBest(v, p.LoadAlpha)
		for i := range Candidates(v) {
			best.Offer(i, Load(v.Load(i), p.LoadAlpha))
		}
		return best.Choice(r, noFullBlock)
	}
	ranked := p.order.of(v, prefixKey(keys))
	if len(ranked) == 0 {
		return Choice{}, nowhere(r)
	}
	r.Decision.Consider(ranked)
	return Choice{Row: r.Row, Target: ranked[0], Reason: "prefix_owner"}, nil
}

// noFullBlock is the reason of affine routers for a prompt that has no key.
const noFullBlock = "no_full_block"

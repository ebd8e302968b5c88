package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "cache_load",
		Doc:  "among the quarter of the instances with the smallest load the longest prefix",
		Keys: []string{"load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(&CacheLoad{LoadAlpha: s.LoadAlpha}, Views|Prefixes)
		},
	})
}

// CacheLoad looks at load first and at the cache second: among the
//
//	max(2, ⌈n ÷ 4⌉)
//
// of the n instances that have the smallest [Load] (then id) it takes the longest
// prefix(i); ties go to the smaller load, then the smaller id (spec/buckets.md 5).
//
// No prefix, however long, gets a request to a busy instance: of 8 instances 6 are
// out whatever they hold.
type CacheLoad struct {
	LoadAlpha float64 // weight of a request in load(i)

	order byLoad
}

// RouteInstance implements [LocalRouter].
func (p *CacheLoad) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	ranked := p.order.of(v, p.LoadAlpha)
	idle := ranked[:min(max(2, (len(ranked)+3)/4), len(ranked))]
	r.Decision.Consider(idle)
	best, prefix := NewBest(v, p.LoadAlpha), v.Prefix()
	for _, i := range idle {
		best.Offer(int(i), -float64(prefix[i]))
	}
	return best.Choice(r, "longest_prefix_of_least_loaded")
}

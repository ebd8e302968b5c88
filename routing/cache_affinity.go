package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "cache_affinity",
		Doc:  "among the instances that own the first blocks of the prompt, more while they queue, the smallest cache_score",
		Keys: []string{"prefix_k", "affinity_fan_out", "load_alpha", "score_alpha", "score_beta"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(NewCacheAffinity(s.PrefixK, s.AffinityFanOut, CacheScore{s.LoadAlpha, s.ScoreAlpha, s.ScoreBeta}), Views|Keys|Prefixes)
		},
	})
}

// CacheAffinity gives prompts that begin alike a few owners and weighs these by
// their score (spec/buckets.md 5). The rendezvous ranking of [PrefixAffinity] gives
// the candidates: its first FanOut. While every one of them has
//
//	queue_len > 2 × mean queue_len of the instances that take requests + 4
//
// and instances are left, the set is doubled to the next ones of the ranking. Among
// the candidates the smallest score(i) of [CacheScore] wins; ties go to the first of
// the ranking. A prompt without a full block has no ranking: all instances are
// candidates, ties as in CacheScore, reason no_full_block.
//
//	8 instances, FanOut 2, queues 9 and 8 at the first two, 0 elsewhere: mean 2.125,
//	limit 8.25: the 8 is below it, two candidates; queues 9 and 9: mean 2.25, limit
//	8.5, four candidates.
type CacheAffinity struct {
	k, fanOut int
	score     CacheScore
	order     rendezvous
}

// NewCacheAffinity makes the key of the first k blocks and begins with fanOut
// candidates; 0 stands for 2.
func NewCacheAffinity(k, fanOut int, score CacheScore) *CacheAffinity {
	if fanOut == 0 {
		fanOut = 2
	}
	return &CacheAffinity{k: k, fanOut: fanOut, score: score}
}

// RouteInstance implements [LocalRouter].
func (p *CacheAffinity) RouteInstance(r *Request, v View, nowMs float64) (Choice, error) {
	keys := v.Keys(p.k)
	if len(keys) == 0 {
		return p.anywhere(r, v, nowMs)
	}
	owners := p.owners(v, p.order.of(v, prefixKey(keys)))
	if len(owners) == 0 {
		return Choice{}, nowhere(r)
	}
	r.Decision.Consider(owners)
	c := Choice{Row: r.Row, Reason: "lowest_score_of_affine"}
	lowest := 0.0
	for at, i := range owners {
		score := p.score.score(r, v, int(i))
		r.Decision.Score(int(i), score)
		if at == 0 || score < lowest {
			c.Target, lowest = i, score
		}
	}
	return c, nil
}

// anywhere weighs all instances.
func (p *CacheAffinity) anywhere(r *Request, v View, nowMs float64) (Choice, error) {
	c, err := p.score.RouteInstance(r, v, nowMs)
	c.Reason = noFullBlock
	r.Decision.ConsiderAll()
	return c, err
}

// owners are the candidates among all instances in the order of the ranking.
func (p *CacheAffinity) owners(v View, ranked []int32) []int32 {
	queued := 0
	for _, i := range ranked {
		queued += v.Load(int(i)).Waiting
	}
	mean := float64(queued) / float64(len(ranked))
	limit := float64(2*mean) + 4
	n := min(p.fanOut, len(ranked))
	for from := 0; n < len(ranked) && congested(v, ranked[from:n], limit); {
		from, n = n, min(2*n, len(ranked))
	}
	return ranked[:n]
}

// congested is whether all targets have longer queues than limit.
func congested(v View, targets []int32, limit float64) bool {
	for _, i := range targets {
		if float64(v.Load(int(i)).Waiting) <= limit {
			return false
		}
	}
	return true
}

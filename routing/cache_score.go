package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "cache_score",
		Doc:  "the smallest weighted sum of load and missing blocks",
		Keys: []string{"load_alpha", "score_alpha", "score_beta"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(&CacheScore{s.LoadAlpha, s.ScoreAlpha, s.ScoreBeta}, Views|Prefixes)
		},
	})
}

// CacheScore weighs load against the cache and sends to the instance with the
// smallest
//
//	score(i) = Alpha × load(i) + Beta × miss(i)
//	miss(i)  = (full blocks of the prompt − prefix(i)) ÷ full blocks; 1 if there is none
//
// Both terms are fractions, so the weights mean the same for every block size. Ties
// go to the smaller [Load], then the smaller id (spec/buckets.md 5).
//
//	CacheScore{LoadAlpha: 0.1, Alpha: 1, Beta: 0.1}
//	  load 0.30, prefix 0 of 8   1×0.30 + 0.1×1    = 0.40
//	  load 0.35, prefix 8 of 8   1×0.35 + 0.1×0    = 0.35   <- here
type CacheScore struct {
	LoadAlpha   float64 // weight of a request in load(i)
	Alpha, Beta float64 // weights of load and of missing blocks
}

// RouteInstance implements [LocalRouter].
func (p *CacheScore) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	best := NewBest(v, p.LoadAlpha)
	for i := range Candidates(v) {
		score := p.score(r, v, i)
		r.Decision.Score(i, score)
		best.Offer(i, score)
	}
	return best.Choice(r, "lowest_score")
}

// score is score(i) of a target.
func (p *CacheScore) score(r *Request, v View, target int) float64 {
	miss := 1.0
	if full := r.InputTokens / int32(v.BlockSize()); full > 0 {
		miss = float64(full-v.Prefix()[target]) / float64(full)
	}
	return float64(p.Alpha*Load(v.Load(target), p.LoadAlpha)) + float64(p.Beta*miss)
}

package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "least_tokens",
		Doc:  "the instance with the fewest prompt tokens left to compute",
		Keys: []string{"load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(LeastTokens{s.LoadAlpha}, Views)
		},
	})
}

// LeastTokens sends to the instance with the smallest outstanding_prefill_tokens:
// prompt tokens that wait or run there and are not yet computed. Ties go to the
// smaller [Load], then the smaller id (spec/buckets.md 5).
//
// It sees prefill only: an instance that decodes for many requests looks idle but
// for the ties.
type LeastTokens struct {
	LoadAlpha float64 // weight of a request in load(i)
}

// RouteInstance implements [LocalRouter].
func (p LeastTokens) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	best := NewBest(v, p.LoadAlpha)
	for i := range Candidates(v) {
		best.Offer(i, float64(v.Load(i).PrefillTokens))
	}
	return best.Choice(r, "fewest_tokens")
}

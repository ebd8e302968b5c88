package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "ttl_aware",
		Doc:  "the instance that holds the longest unexpired prefix of the prompt, by the meta store",
		Keys: []string{"load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(TTLAware{s.LoadAlpha}, Views|Prefixes)
		},
	})
}

// TTLAware sends to the instance with the longest prefix(i), what it holds of the
// prompt by the meta store. Ties, such as a prompt that nobody knows, go to the
// smaller [Load], then the smaller id (spec/buckets.md 5).
//
// Entries expire, and may name blocks that are gone; load counts only in ties, so a
// popular prefix stays where it is however long the queue.
type TTLAware struct {
	LoadAlpha float64 // weight of a request in load(i)
}

// RouteInstance implements [LocalRouter].
func (p TTLAware) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	best, prefix := NewBest(v, p.LoadAlpha), v.Prefix()
	for i := range Candidates(v) {
		best.Offer(i, -float64(prefix[i]))
	}
	return best.Choice(r, "longest_prefix")
}

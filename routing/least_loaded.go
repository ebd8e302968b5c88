package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "least_loaded",
		Doc:  "the instance with the fewest requests",
		Keys: []string{"load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(LeastLoaded{s.LoadAlpha}, Views)
		},
	})
}

// LeastLoaded sends to the instance with the smallest queue_len + running; ties go
// to the smaller [Load], then the smaller id (spec/buckets.md 5).
//
//	queue_len  running
//	    1         2      3
//	    0         2      2   <- here
//
// A long prompt counts as much as a short one; [LeastTokens] tells them apart.
type LeastLoaded struct {
	LoadAlpha float64 // weight of a request in load(i)
}

// RouteInstance implements [LocalRouter].
func (p LeastLoaded) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	best := NewBest(v, p.LoadAlpha)
	for i := range Candidates(v) {
		l := v.Load(i)
		best.Offer(i, float64(l.Waiting+l.Running))
	}
	return best.Choice(r, "fewest_requests")
}

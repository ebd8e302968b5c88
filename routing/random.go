package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "random",
		Doc:  "any instance, by a seeded draw",
		New: func(_ Settings, draws *arrival.Rand) Placement {
			return Immediate(&Random{draws}, 0)
		},
	})
}

// Random sends to any of the n instances that take requests: the k-th of them in
// order of their ids, k = below(n) (spec/buckets.md 5.1). It looks at nothing.
//
// The baseline against which every policy that looks at something has to win. It
// evens out the number of requests only in the long run.
type Random struct{ Draws *arrival.Rand }

// RouteInstance implements [LocalRouter].
func (p *Random) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	n := count(v)
	if n == 0 {
		return Choice{}, nowhere(r)
	}
	target := nth(v, p.Draws.Below(n))
	return Choice{Row: r.Row, Target: int32(target), Reason: "drawn"}, nil
}

// count is the number of targets that take requests.
func count(v View) (n uint64) {
	for range Candidates(v) {
		n++
	}
	return n
}

// nth is the k-th target that takes requests, from 0.
func nth(v View, k uint64) int {
	for i := range Candidates(v) {
		if k == 0 {
			return i
		}
		k--
	}
	panic("routing: drew a target that is not there")
}

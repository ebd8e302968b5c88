package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "power_of_two",
		Doc:  "of two instances drawn at random the one with the smaller load",
		Keys: []string{"load_alpha"},
		New: func(s Settings, draws *arrival.Rand) Placement {
			return Immediate(&PowerOfTwo{s.LoadAlpha, draws}, Views)
		},
	})
}

// PowerOfTwo draws two different instances of the n that take requests and sends to
// the one with the smaller [Load], or the smaller id if they tie (spec/buckets.md 5.1):
//
//	a = below(n)    b = below(n − 1), one more if b ≥ a    no draw if n = 1
//
// It looks at two instances, however many there are, and yet the longest queue grows
// only as log log n (Mitzenmacher, "The power of two choices in randomized load
// balancing", 2001).
type PowerOfTwo struct {
	LoadAlpha float64 // weight of a request in load(i)
	Draws     *arrival.Rand
}

// RouteInstance implements [LocalRouter].
func (p *PowerOfTwo) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	pair := make([]int32, 0, 2)
	switch n := count(v); n {
	case 0:
		return Choice{}, nowhere(r)
	case 1:
		pair = append(pair, int32(nth(v, 0)))
	default:
		a, b := p.Draws.Below(n), p.Draws.Below(n-1)
		if b >= a {
			b++
		}
		pair = append(pair, int32(nth(v, min(a, b))), int32(nth(v, max(a, b))))
	}
	r.Decision.Consider(pair)
	best := NewBest(v, p.LoadAlpha)
	for _, i := range pair {
		best.Offer(int(i), Load(v.Load(int(i)), p.LoadAlpha))
	}
	return best.Choice(r, "lower_load_of_two")
}

package work

import "fmt"

// Routing says how unevenly tokens choose experts: the popularity of the expert of
// rank i among E is proportional to exp(−a·i/E), capped at 1 (spec/latency.md 5.1).
// 0 is uniform, which overestimates how many experts a batch touches.
type Routing struct{ Prefill, Decode float64 }

// Routing profiles that were measured for Qwen3.6-35B-A3B (spec/latency.md 5.1,
// 5.6).
var (
	Uniform  = Routing{}
	Recorded = Routing{Prefill: 3.5, Decode: 4.5} // tokens of real text
	Random   = Routing{Prefill: 12, Decode: 6.7}  // random token ids of the right length
)

// String names a profile.
func (r Routing) String() string {
	switch r {
	case Uniform:
		return "uniform"
	case Recorded:
		return "recorded"
	case Random:
		return "random"
	}
	return fmt.Sprintf("prefill %v, decode %v", r.Prefill, r.Decode)
}

// distinct is how many experts of a layer a number of tokens touches, as expected:
//
//	D(T) = Σ over experts of 1 − (1 − π)^T
type distinct struct {
	experts float64
	byToken []float64 // D(T) for T = 0, 1, …; the last one holds beyond
}

// maxTokens is the most tokens for which D is kept.
const maxTokens = 1 << 15

// newDistinct makes the table by repeated multiplication, so that it has the same
// bits everywhere (spec/latency.md 4.1).
func newDistinct(experts, topK int, a float64) *distinct {
	missing := popularity(experts, topK, a) // becomes (1 − π)^T
	for i, p := range missing {
		missing[i] = 1 - p
	}
	power := make([]float64, experts)
	for i := range power {
		power[i] = 1
	}
	d := &distinct{experts: float64(experts), byToken: []float64{0}}
	for t := 1; t <= maxTokens; t++ {
		sum := 0.0
		for i := range power {
			power[i] = float64(power[i] * missing[i])
			sum += 1 - power[i]
		}
		d.byToken = append(d.byToken, sum)
		if d.experts-sum < 1e-6 {
			break
		}
	}
	return d
}

// popularity is the probability with which a token chooses each expert. They sum to
// topK and none is above 1.
func popularity(experts, topK int, a float64) []float64 {
	weight := make([]float64, experts)
	factor, w := decay(a/float64(experts)), 1.0
	for i := range weight {
		weight[i] = w
		w *= factor
	}
	p := make([]float64, experts)
	for capped := 0; ; { // those that would be above 1 get 1, the others share the rest
		sum := 0.0
		for _, w := range weight[capped:] {
			sum += w
		}
		share := float64(topK-capped) / sum
		if float64(share*weight[capped]) <= 1 {
			for i := range p {
				p[i] = 1
				if i >= capped {
					p[i] = share * weight[i]
				}
			}
			return p
		}
		capped++
	}
}

// decay is exp(−x) for x from 0 to a few tens by its series, with the same bits
// everywhere.
func decay(x float64) float64 {
	halvings := 0
	for x > 0.5 {
		x /= 2
		halvings++
	}
	sum, term := 1.0, 1.0
	for i := 1; i <= 20; i++ {
		term = float64(term * (-x / float64(i)))
		sum += term
	}
	for range halvings {
		sum *= sum
	}
	return sum
}

// at is D(t), between whole tokens linear.
func (d *distinct) at(t float64) float64 {
	last := len(d.byToken) - 1
	if t >= float64(last) {
		return d.byToken[last]
	}
	i := int(t)
	low := d.byToken[i]
	return low + float64((t-float64(i))*(d.byToken[i+1]-low))
}

// Distinct is how many of a layer's experts the new tokens of a pass touch. Prompts
// and decodes choose by their own profiles, independently of each other.
func (d *Deployment) Distinct(prefill, decode float64) float64 {
	p, q := d.prefill.at(prefill), d.decode.at(decode)
	return p + q - float64(p*(q/d.prefill.experts))
}

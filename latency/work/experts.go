package work

import (
	"math"

	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/precision"
)

// ExpertOps appends the fused expert layers, which are all alike, for the new tokens of a rank, of prompts
// and of decodes.
func (d *Deployment) ExpertOps(prefill, decode float64, dst []Op) []Op {
	if prefill+decode <= 0 || !d.Model.MoE() {
		return dst
	}
	o := d.ExpertLayer(d.ExpertLoad(prefill, decode))
	o.Shape.Tokens = (prefill + decode) * float64(d.Layout.DP)
	o.Times = 0
	for i := range d.Model.Layers {
		if l := &d.Model.Layers[i]; l.FFN.Experts > 0 {
			o.Times += l.Count
		}
	}
	return append(dst, o)
}

// ExpertLoad is the assignments of tokens to experts and the distinct experts of the
// GPU with the most work, which the layer waits for (spec/latency.md 1.8, 1.12).
// Ranks of an attention data-parallel group are taken to be alike.
func (d *Deployment) ExpertLoad(prefill, decode float64) (pairs, distinct float64) {
	f, ranks, parts := d.Model.Routed(), float64(d.Layout.DP), float64(d.Layout.ExpertEP)
	tokens := (prefill + decode) * ranks
	pairs = straggler(tokens*float64(f.TopK)/parts, d.spread, math.Inf(1))
	distinct = straggler(d.Distinct(prefill*ranks, decode*ranks)/parts, d.spread, float64(f.Experts)/parts)
	return pairs, distinct
}

// straggler is the largest of several counts whose mean is given and none of which
// is above most, if each is the sum of many rare events: the mean and √(spread ·
// variance), spread = 2 ln of how many there are (spec/latency.md 1.12).
func straggler(mean, spread, most float64) float64 {
	variance := mean * (1 - min(1, mean/most))
	return min(most, mean+math.Sqrt(spread*variance))
}

// lnRanks is the natural logarithm of a number of ranks from the series of
// artanh, with the same bits everywhere.
func lnRanks(n float64) float64 {
	const ln2 = 0.693147180559945309417232121458
	doublings := 0.0
	for n >= 2 {
		n /= 2
		doublings++
	}
	z := (n - 1) / (n + 1)
	square, power, sum := z*z, z, 0.0
	for k := 1.0; k < 40; k += 2 {
		sum += power / k
		power *= square
	}
	return float64(doublings*ln2) + 2*sum
}

// ExpertLayer is one expert layer on the GPU with so many assignments of tokens and
// distinct experts.
func (d *Deployment) ExpertLayer(pairs, distinct float64) Op {
	f := d.Model.Routed()
	return fused(d.Weights[arch.Experts], float64(f.Matrices), float64(d.Model.Hidden), share(f.ExpertWidth, d.Layout.ExpertTP), pairs, Shape{
		Hidden: d.Model.Hidden, Width: f.ExpertWidth, Experts: f.Experts, TopK: f.TopK,
		GPUs: d.Layout.ExpertTP, Parts: d.Layout.ExpertEP, Distinct: distinct,
	})
}

// fused is one expert layer (spec/latency.md 1.8, equation 7); the copies of tokens
// are sorted by expert in front and summed up behind.
func fused(f precision.Format, matrices, hidden, width, pairs float64, s Shape) Op {
	return Op{
		Name: "experts", Class: Experts, Format: f, Times: 1,
		FLOPs:   2 * matrices * pairs * hidden * width,
		Weights: s.Distinct * matrices * hidden * width * f.Bytes,
		Moved:   bf16 * pairs * (float64(2*hidden) + float64(matrices*width)),
		Side:    2 * bf16 * pairs * hidden,
		Shape:   s,
	}
}

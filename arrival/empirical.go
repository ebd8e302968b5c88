package arrival

import (
	"fmt"
	"math"
	"sort"

	"github.com/reprise-sim/reprise/setting"
)

func init() {
	distributions["empirical"] = kind[DistributionSettings, Distribution]{
		about: "numbers of a list, each as often as its weight says, clipped to min and max",
		needs: []string{"values"},
		takes: []string{"weights", "min", "max"},
		make: func(s DistributionSettings, p *setting.Problems) Distribution {
			e, err := NewEmpirical(s.Values, s.Weights)
			for _, wrong := range setting.All(err) {
				p.Check(false, wrong.Field, wrong.Value, wrong.Want)
			}
			return clip(e, s, p)
		},
	}
}

// Empirical draws numbers of a list: what was measured, or the bins of a
// histogram.
//
//	P(value i) = weight i / sum of weights
//
// NewEmpirical([]float64{10, 20, 500}, []float64{7, 2, 1}) prints, with one
// seed, 20 10 10 10.
type Empirical struct {
	values []float64
	upTo   []float64 // sum of the weights up to and with value i
}

// NewEmpirical takes finite values of at least 0 and a weight of at least 0 for each
// of them; without weights all are equal. Both lists are kept.
func NewEmpirical(values, weights []float64) (*Empirical, error) {
	var p setting.Problems
	p.Check(len(values) > 0, "values", "an empty list", "at least one number")
	for i, v := range values {
		p.Check(notNegative(v), fmt.Sprintf("values.%d", i), v, wantNotNegative)
	}
	e := &Empirical{values: values}
	if weights != nil {
		p.Check(len(weights) == len(values), "weights", fmt.Sprintf("%d numbers", len(weights)), fmt.Sprintf("%d, one for each value", len(values)))
		sum := 0.0
		for i, w := range weights {
			p.Check(notNegative(w), fmt.Sprintf("weights.%d", i), w, wantNotNegative)
			sum += w
			e.upTo = append(e.upTo, sum)
		}
		p.Check(sum > 0 && sum <= math.MaxFloat64, "weights", fmt.Sprintf("sum %v", sum), "a finite sum above 0")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// Draw implements [Distribution].
func (e *Empirical) Draw(r *Rand) float64 {
	if e.upTo == nil {
		return e.values[r.Below(uint64(len(e.values)))]
	}
	x := r.Float64() * e.upTo[len(e.upTo)-1] // below the sum: see TestNoWeightIsOverrun
	return e.values[sort.Search(len(e.upTo)-1, func(i int) bool { return e.upTo[i] > x })]
}

// Expected is the weighted mean.
func (e *Empirical) Expected() float64 {
	sum, before := 0.0, 0.0
	for i, v := range e.values {
		if e.upTo == nil {
			sum += v / float64(len(e.values))
			continue
		}
		sum += float64(v * (e.upTo[i] - before) / e.upTo[len(e.upTo)-1])
		before = e.upTo[i]
	}
	return sum
}

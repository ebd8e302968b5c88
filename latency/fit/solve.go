package fit

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// Sample is one measurement: its time by parts as a model without weights says, and
// the time that was measured, in any unit.
type Sample struct {
	Parts []float64
	Value float64
}

// Prior is what is believed of the weights before any measurement.
type Prior struct {
	Weights []float64
	// Low and High bound each weight.
	Low, High []float64
	// Strength is how many samples the prior is worth, as a fraction of their number:
	// 0.01 to 0.1.
	Strength float64
}

// Solve minimises the squares of relative errors, with a pull of each weight towards
// its prior in proportion to the part's mean share of the time; samples that are
// far off count less (Huber's weights at twice the median error, reweighted until
// nothing changes). The weights lie within their bounds.
func Solve(samples []Sample, p Prior) ([]float64, error) {
	if len(samples) == 0 {
		return nil, errors.New("no samples")
	}
	n := len(p.Weights)
	trust := make([]float64, len(samples))
	for i := range trust {
		trust[i] = 1
	}
	var weights []float64
	for range 10 {
		normal, right := normalEquations(samples, trust, p)
		next := boxed(normal, right, p.Low, p.High)
		done := weights != nil
		for j := range n {
			done = done && math.Abs(next[j]-weights[j]) <= 1e-9*(1+math.Abs(next[j]))
		}
		weights = next
		if done {
			break
		}
		reweigh(samples, weights, trust)
	}
	return weights, nil
}

// normalEquations are those of the relative errors and the pull to the prior.
func normalEquations(samples []Sample, trust []float64, p Prior) (normal [][]float64, right []float64) {
	n := len(p.Weights)
	normal, right = make([][]float64, n), make([]float64, n)
	for j := range normal {
		normal[j] = make([]float64, n)
	}
	share := make([]float64, n)
	for i := range samples {
		s := &samples[i]
		for j := range n {
			a := s.Parts[j] / s.Value
			share[j] += a / float64(len(samples))
			right[j] += float64(trust[i] * a)
			for k := range j + 1 {
				normal[j][k] += float64(float64(trust[i]*a) * (s.Parts[k] / s.Value))
			}
		}
	}
	for j := range n {
		// A part that hardly occurs is still tied to its prior a little.
		pull := float64(p.Strength * float64(len(samples)) * max(share[j], leastShare) * max(share[j], leastShare))
		normal[j][j] += pull
		right[j] += float64(pull * p.Weights[j])
		for k := range j {
			normal[k][j] = normal[j][k]
		}
	}
	return normal, right
}

// leastShare is the share of the time below which a part counts as rare.
const leastShare = 0.02

// boxed minimises ½·wᵀNw − rᵀw within bounds by coordinate descent, which converges
// for a positive definite N, always to the same bits.
func boxed(normal [][]float64, right, low, high []float64) []float64 {
	n := len(right)
	w := make([]float64, n)
	for j := range w {
		w[j] = max(low[j], min(high[j], 1))
	}
	for range 20000 {
		moved := 0.0
		for j := range w {
			residual := right[j]
			for k := range w {
				if k != j {
					residual -= float64(normal[j][k] * w[k])
				}
			}
			next := max(low[j], min(high[j], residual/normal[j][j]))
			moved = max(moved, math.Abs(next-w[j])/(1+math.Abs(next)))
			w[j] = next
		}
		if moved < 1e-12 {
			break
		}
	}
	return w
}

// reweigh sets how much each sample counts from its relative error.
func reweigh(samples []Sample, weights, trust []float64) {
	off := make([]float64, len(samples))
	for i := range samples {
		off[i] = math.Abs(samples[i].Error(weights))
	}
	limit := 2*Median(off) + 1e-12
	for i := range trust {
		trust[i] = min(1, limit/max(off[i], 1e-300))
	}
}

// Predict is the time of the sample by its parts as weighed.
func (s *Sample) Predict(weights []float64) float64 {
	sum := 0.0
	for j, w := range weights {
		sum += float64(w * s.Parts[j])
	}
	return sum
}

// Error is the relative error of weights on the sample.
func (s *Sample) Error(weights []float64) float64 { return s.Predict(weights)/s.Value - 1 }

// Median is the middle of a list, NaN of none. The list is not changed.
func Median(list []float64) float64 { return Quantile(list, 0.5) }

// Quantile is the value below which a fraction of a list lies, between neighbours
// linear; NaN of an empty list. The list is not changed.
func Quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, cmp.Compare[float64])
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}

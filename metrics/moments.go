package metrics

import "math"

// Moments is the mean and spread of samples that were seen once and forgotten.
type Moments struct {
	N    int64
	Mean float64
	M2   float64 // sum of squared deviations from the mean
}

// Add adds a sample.
func (m *Moments) Add(v float64) {
	m.N++
	d := v - m.Mean
	m.Mean += d / float64(m.N)
	m.M2 += float64(d * (v - m.Mean))
}

// Merge adds the samples of o (Chan, Golub, LeVeque 1979).
func (m *Moments) Merge(o Moments) {
	if o.N == 0 {
		return
	}
	n := m.N + o.N
	d, share := o.Mean-m.Mean, float64(o.N)/float64(n)
	m.Mean += float64(d * share)
	m.M2 += o.M2 + float64(float64(d*d)*float64(m.N)*share)
	m.N = n
}

// Std is the population standard deviation; NaN without samples.
func (m *Moments) Std() float64 {
	return math.Sqrt(m.M2 / float64(m.N))
}

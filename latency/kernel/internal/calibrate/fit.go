package main

import (
	"cmp"
	"math"
	"slices"
)

// sample is a measured kernel: its two limits at full speed, what kernels around it
// move at full speed, and its time, ms.
type sample struct{ compute, memory, side, time float64 }

// constants are those of a law; a fraction that is 0 is not part of it.
type constants struct{ launch, compute, memory, side float64 }

// ms is the law.
func (c *constants) ms(s *sample) float64 {
	return c.launch + math.Hypot(over(s.compute, c.compute), over(s.memory, c.memory)) + over(s.side, c.side)
}

func over(ms, fraction float64) float64 {
	if fraction == 0 {
		return 0
	}
	return ms / fraction
}

// The constants as parameters without bounds: the launch by its logarithm, fractions
// of peaks by the logistic function, so that none beats the speed of light.
func (c *constants) pack() []float64 {
	logit := func(f float64) float64 { return math.Log(f / (1 - f)) }
	q := []float64{math.Log(c.launch), logit(c.compute), logit(c.memory)}
	if c.side > 0 {
		q = append(q, math.Log(c.side))
	}
	return q
}

func unpack(q []float64) constants {
	logistic := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	c := constants{launch: math.Exp(q[0]), compute: logistic(q[1]), memory: logistic(q[2])}
	if len(q) > 3 {
		c.side = math.Exp(q[3])
	}
	return c
}

// fit minimises the squares of ln(law / time) by Levenberg and Marquardt.
func fit(samples []sample, from constants) constants {
	q := from.pack()
	damping, best := 1e-3, loss(samples, q)
	for range 200 {
		normal, gradient := linearise(samples, q)
		for i := range normal {
			normal[i][i] *= 1 + damping
			normal[i][i] += 1e-9
		}
		step := solve(normal, gradient)
		next := slices.Clone(q)
		for i := range next {
			next[i] = max(-30, min(30, next[i]-max(-1, min(1, step[i]))))
		}
		if l := loss(samples, next); l < best {
			if best-l < 1e-10*best {
				return unpack(next)
			}
			q, best, damping = next, l, damping/3
		} else if damping *= 4; damping > 1e9 {
			break
		}
	}
	return unpack(q)
}

// loss is the sum of squares of ln(law / time).
func loss(samples []sample, q []float64) float64 {
	c, sum := unpack(q), 0.0
	for i := range samples {
		r := math.Log(c.ms(&samples[i]) / samples[i].time)
		sum += r * r
	}
	return sum
}

// linearise is the normal matrix and the gradient of the loss.
func linearise(samples []sample, q []float64) (normal [][]float64, gradient []float64) {
	const h = 1e-5
	n := len(q)
	moved := make([]constants, n)
	for j := range moved {
		p := slices.Clone(q)
		p[j] += h
		moved[j] = unpack(p)
	}
	base := unpack(q)
	normal, gradient = make([][]float64, n), make([]float64, n)
	for i := range normal {
		normal[i] = make([]float64, n)
	}
	d := make([]float64, n)
	for i := range samples {
		at := base.ms(&samples[i])
		r := math.Log(at / samples[i].time)
		for j := range d {
			d[j] = math.Log(moved[j].ms(&samples[i])/at) / h
			gradient[j] += d[j] * r
			for k := range j + 1 {
				normal[j][k] += d[j] * d[k]
				normal[k][j] = normal[j][k]
			}
		}
	}
	return normal, gradient
}

// solve is Gaussian elimination with pivots.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	x := slices.Clone(b)
	for i := range n {
		pivot := i
		for r := i + 1; r < n; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[pivot][i]) {
				pivot = r
			}
		}
		a[i], a[pivot], x[i], x[pivot] = a[pivot], a[i], x[pivot], x[i]
		for r := i + 1; r < n; r++ {
			f := a[r][i] / a[i][i]
			for k := i; k < n; k++ {
				a[r][k] -= f * a[i][k]
			}
			x[r] -= f * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}

// errors are the mean and the median of |law / time − 1|, %.
func errors(samples []sample, c *constants) (mape, median float64) {
	all := make([]float64, len(samples))
	for i := range samples {
		all[i] = 100 * math.Abs(c.ms(&samples[i])/samples[i].time-1)
		mape += all[i] / float64(len(samples))
	}
	slices.SortFunc(all, cmp.Compare[float64])
	return mape, all[len(all)/2]
}

package arrival

import "math"

// A Process spaces arrivals. The first one is at 0 in every process.
type Process interface {
	// Next returns when arrival n happens, in ms and not rounded. n counts from 0
	// and is at least 1 here; arrival n−1 happened at previousMs. The answer is
	// finite and not before previousMs.
	Next(n int64, previousMs float64, r *Rand) float64

	// Rate is the mean number of arrivals per second in the long run; +Inf if all
	// come at once, NaN if it is not known.
	Rate() float64
}

// ProcessFunc is a function adapter that implements [Process] without a known
// rate.
type ProcessFunc func(n int64, previousMs float64, r *Rand) float64

// Next implements [Process].
func (f ProcessFunc) Next(n int64, previousMs float64, r *Rand) float64 {
	return f(n, previousMs, r)
}

// Rate is not known.
func (ProcessFunc) Rate() float64 { return math.NaN() }

// Times walks through the arrivals of a process.
type Times struct {
	process Process
	rand    *Rand
	n       int64
	atMs    float64
}

// NewTimes starts at the first arrival.
func NewTimes(p Process, r *Rand) *Times { return &Times{process: p, rand: r} }

// Next returns the next arrival in ms, rounded to whole µs. What is rounded does
// not add up: the process goes on from the unrounded time. It panics if the process
// goes back in time.
func (t *Times) Next() float64 {
	if t.n > 0 {
		at := t.process.Next(t.n, t.atMs, t.rand)
		if !(at >= t.atMs) {
			panic("arrival: a process went back in time")
		}
		t.atMs = at
	}
	t.n++
	return Micros(t.atMs)
}

// Micros rounds a time in ms to whole µs, halves away from 0. The result is the
// double nearest to that decimal.
func Micros(ms float64) float64 { return math.Round(ms*1000) / 1000 }

package arrival

import "math"

// A Distribution draws lengths in tokens or pauses in ms. Its numbers are not
// rounded; [Tokens] and [Micros] do that.
type Distribution interface {
	// Draw returns the next number. It is finite, and may be negative.
	Draw(r *Rand) float64

	// Expected is the mean in the long run, before rounding; NaN if it is not known.
	Expected() float64
}

// DistributionFunc is a function adapter that implements [Distribution] without a
// known mean.
type DistributionFunc func(r *Rand) float64

// Draw implements [Distribution].
func (f DistributionFunc) Draw(r *Rand) float64 { return f(r) }

// Expected is not known.
func (DistributionFunc) Expected() float64 { return math.NaN() }

// Tokens rounds a draw to a number of tokens: whole, halves away from 0, at least 1
// (DESIGN.md 3).
func Tokens(draw float64) int32 {
	return int32(min(max(math.Round(draw), 1), math.MaxInt32))
}

// Pause rounds a draw to a pause in ms: whole µs, at least 0.
func Pause(draw float64) float64 { return max(Micros(draw), 0) }

// Clipped moves draws outside [Min, Max] to the nearer bound.
//
// Clipped{Of: Fixed{7}, Min: 1, Max: 5} prints 5 5 5 5.
type Clipped struct {
	Of       Distribution
	Min, Max float64
}

// Draw implements [Distribution].
func (c Clipped) Draw(r *Rand) float64 { return min(max(c.Of.Draw(r), c.Min), c.Max) }

// Expected is not known: it depends on how much is clipped.
func (c Clipped) Expected() float64 { return math.NaN() }

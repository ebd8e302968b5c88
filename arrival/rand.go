package arrival

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Rand is a stream of random numbers: SplitMix64, which passes through all 2^64
// states. It is not safe for concurrent use.
type Rand struct{ state uint64 }

// NewRand starts the stream that belongs to a seed and a purpose, such as
// "synth.input". Its first state is XXH3-64 (seed: the run's seed) of the
// purpose's bytes (spec/buckets.md 5.1). Streams of different purposes are
// independent, so a draw more for one of them changes no other.
func NewRand(seed uint64, purpose string) *Rand {
	return &Rand{xxh3.HashStringSeed(purpose, seed)}
}

// Uint64 is uniform over all 64-bit numbers.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9E3779B97F4A7C15
	z := r.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Below is uniform over 0 … n−1: the high 64 bits of the next number × n
// (spec/buckets.md 5.1).
func (r *Rand) Below(n uint64) uint64 {
	high, _ := bits.Mul64(r.Uint64(), n)
	return high
}

// Float64 is uniform over the multiples of 2^-53 in [0, 1). (The division may be
// compiled to a product, which must not be fused with a caller's sum.)
func (r *Rand) Float64() float64 { return float64(float64(r.Uint64()>>11) / (1 << 53)) }

// Exponential has mean 1: −ln(1 − U).
func (r *Rand) Exponential() float64 { return -ln(1 - r.Float64()) }

// Normal has mean 0 and standard deviation 1: Marsaglia's polar form of the
// Box–Muller transform, which needs no sine. Of the pair it yields one is used, so
// that a stream has no state but its position.
func (r *Rand) Normal() float64 {
	for {
		u, v := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		s := float64(u*u) + float64(v*v)
		if s > 0 && s < 1 {
			return float64(u * math.Sqrt(-2*ln(s)/s))
		}
	}
}

// Gamma has the given shape, above 0, and scale 1, so its mean and variance are the
// shape. The method is Marsaglia and Tsang's, "A simple method for generating gamma
// variables" (2000), with their boost for shapes below 1.
func (r *Rand) Gamma(shape float64) float64 {
	if shape < 1 {
		boost := exp(ln(1-r.Float64()) / shape)
		return float64(r.Gamma(shape+1) * boost)
	}
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		accept := float64(0.5*x*x) + d - float64(d*v) + float64(d*ln(v))
		if ln(1-r.Float64()) < accept {
			return float64(d * v)
		}
	}
}

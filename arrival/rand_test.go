package arrival

import (
	"math"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
)

// The vectors of spec/buckets.md 5.1: seed 42, purpose local_router.
func TestStreamsAreThoseOfTheSpecification(t *testing.T) {
	r := NewRand(42, "local_router")
	if r.state != 5492783325388395553 {
		t.Errorf("first state %d", r.state)
	}
	got := []uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
	if want := []uint64{3046687900052909918, 7828234608112932825, 11626902399955110919, 6056206707300068007}; !slices.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	r = NewRand(42, "local_router")
	var below []uint64
	for range 8 {
		below = append(below, r.Below(8))
	}
	if want := []uint64{1, 3, 5, 2, 0, 2, 6, 1}; !slices.Equal(below, want) {
		t.Errorf("below(8) %v, want %v", below, want)
	}
	r = NewRand(42, "local_router")
	var pairs [][2]uint64
	for range 4 {
		a, b := r.Below(5), r.Below(4)
		if b >= a {
			b++
		}
		pairs = append(pairs, [2]uint64{a, b})
	}
	if want := [][2]uint64{{0, 2}, {3, 1}, {0, 2}, {3, 0}}; !slices.Equal(pairs, want) {
		t.Errorf("pairs of 5 %v, want %v", pairs, want)
	}
}

// Other seeds and other purposes give streams without any likeness: the correlation
// of n pairs has a standard deviation of 1/√n.
func TestStreamsAreIndependent(t *testing.T) {
	const n = 100_000
	draw := func(seed uint64, purpose string) []float64 {
		r, out := NewRand(seed, purpose), make([]float64, n)
		for i := range out {
			out[i] = r.Float64() - 0.5
		}
		return out
	}
	base := draw(42, "synth.input")
	for _, c := range []struct {
		seed    uint64
		purpose string
	}{{42, "synth.output"}, {42, "synth.inpuu"}, {43, "synth.input"}, {42 << 32, "synth.input"}} {
		other, sum := draw(c.seed, c.purpose), 0.0
		for i := range base {
			sum += base[i] * other[i]
		}
		if r := sum / n * 12; math.Abs(r) > 4/math.Sqrt(n) {
			t.Errorf("seed %d, %q: correlation %.4f", c.seed, c.purpose, r)
		}
	}
}

func TestDrawsHaveTheirMomentsToFourStandardErrors(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		name                     string
		draw                     func(*Rand) float64
		mean, variance, kurtosis float64 // kurtosis: 4th central moment / variance²
	}{
		{"Float64", (*Rand).Float64, 0.5, 1. / 12, 1.8},
		{"Below(10)", func(r *Rand) float64 { return float64(r.Below(10)) }, 4.5, 8.25, 1.7758},
		{"Exponential", (*Rand).Exponential, 1, 1, 9},
		{"Normal", (*Rand).Normal, 0, 1, 3},
		{"Gamma(0.3)", func(r *Rand) float64 { return r.Gamma(0.3) }, 0.3, 0.3, 3 + 6/0.3},
		{"Gamma(1)", func(r *Rand) float64 { return r.Gamma(1) }, 1, 1, 9},
		{"Gamma(7.5)", func(r *Rand) float64 { return r.Gamma(7.5) }, 7.5, 7.5, 3 + 6/7.5},
		{"Uniform", Uniform{3, 12}.Draw, 7.5, 8.25, 1.7758},
		{"Normal 1024/100", Normal{1024, 100}.Draw, 1024, 1e4, 3},
		{"LogNormal 1024/256", NewLogNormal(1024, 256).Draw, 1024, 256 * 256, 4.04},
		{"Exponential 5000", Exponential{5000}.Draw, 5000, 25e6, 9},
		{"Empirical", must(NewEmpirical([]float64{0, 10}, []float64{3, 1})).Draw, 2.5, 18.75, 2.3333},
		{"Empirical, equal", must(NewEmpirical([]float64{0, 10, 20}, nil)).Draw, 10, 200. / 3, 1.5},
	} {
		r := NewRand(42, c.name)
		var sum, squares float64
		for range n {
			x := c.draw(r) - c.mean
			sum += x
			squares += x * x
		}
		if got, se := sum/n, math.Sqrt(c.variance/n); math.Abs(got) > 4*se {
			t.Errorf("%s: mean %v, want %v ± %.3g", c.name, got+c.mean, c.mean, se)
		}
		if got, se := squares/n, c.variance*math.Sqrt((c.kurtosis-1)/n); math.Abs(got-c.variance) > 4*se {
			t.Errorf("%s: variance %v, want %v ± %.3g", c.name, got, c.variance, se)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A fingerprint of the bits of many draws. It must be the same on every machine; if
// it changes here, every trace generated before changes with it.
func TestDrawsHaveTheSameBitsEverywhere(t *testing.T) {
	r := NewRand(42, "bits")
	h := xxh3.New()
	for range 20_000 {
		for _, x := range []float64{
			r.Float64(), r.Exponential(), r.Normal(), r.Gamma(0.3), r.Gamma(7.5),
			NewLogNormal(1024, 512).Draw(r), Normal{1024, 100}.Draw(r),
			Gamma{3, 0.5}.Next(1, 1e6, r), Poisson{0.7}.Next(1, 1e6, r), Constant{3}.Next(7, 0, r),
		} {
			b := math.Float64bits(x)
			for range 8 {
				h.Write([]byte{byte(b)})
				b >>= 8
			}
		}
	}
	if got, want := h.Sum64(), uint64(2798145674743157063); got != want {
		t.Errorf("fingerprint %d, want %d", got, want)
	}
}

package arrival

import (
	"math"
	"testing"
)

// Package math is good to 1 unit in the last place for normal numbers on every
// architecture, so 3 units between the two mean at most 2 of ours.
func TestElementaryFunctionsAreAccurate(t *testing.T) {
	r := NewRand(42, "elementary")
	ulps := func(got, want float64) float64 {
		return math.Abs(got-want) / (math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want))
	}
	for range 200_000 {
		x := math.Ldexp(1+r.Float64(), int(r.Below(2046))-1022)
		if u := ulps(ln(x), math.Log(x)); u > 3 {
			t.Fatalf("ln(%v) = %v, want %v: %v units off", x, ln(x), math.Log(x), u)
		}
		near := 1 - r.Float64()*math.Ldexp(1, -int(r.Below(53)))
		if u := ulps(ln(near), math.Log(near)); near < 1 && u > 3 {
			t.Fatalf("ln(%v) = %v, want %v: %v units off", near, ln(near), math.Log(near), u)
		}
		y := (r.Float64() - 0.5) * 1400
		if u := ulps(exp(y), math.Exp(y)); u > 3 {
			t.Fatalf("exp(%v) = %v, want %v: %v units off", y, exp(y), math.Exp(y), u)
		}
	}
}

func TestElementaryFunctionsAtTheirEnds(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{ln(1), 0}, {exp(0), 1}, {exp(math.Inf(-1)), 0}, {exp(-1e6), 0}, {exp(1e6), math.Inf(1)},
		{exp(math.Nextafter(710, 711)), math.Inf(1)}, {ln(2), math.Ln2}, {ln(5e-324), -744.4400719213812},
		{exp(-744.4400719213812), 5e-324},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

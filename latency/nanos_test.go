package latency

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TIM-1 of spec/engine.md 15.2.
func TestSpeedupsDivide(t *testing.T) {
	for _, c := range []struct{ ms, ratio, want float64 }{{12, 3, 4}, {12, 0, 12}, {0, 3, 0}} {
		if got, err := wholeNanos(c.ms, c.ratio); err != nil || got != c.want {
			t.Errorf("scaled(%v, %v): %v, %v, want %v", c.ms, c.ratio, got, err, c.want)
		}
	}
}

var billion = big.NewInt(1e9)

// exactNanos is x seconds in nanoseconds, rounded from the exact value to the
// nearest, ties to even.
func exactNanos(x float64) *big.Int {
	fraction, exp := math.Frexp(x)
	n := new(big.Int).Mul(big.NewInt(int64(math.Ldexp(fraction, 53))), billion)
	if exp -= 53; exp >= 0 {
		return n.Lsh(n, uint(exp))
	}
	low := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(-exp)), big.NewInt(1)))
	half := new(big.Int).Lsh(big.NewInt(1), uint(-exp-1))
	n.Rsh(n, uint(-exp))
	if c := low.Cmp(half); c > 0 || c == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(1))
	}
	return n
}

// inSeconds is whole seconds + nanoseconds/1e9 as doubles.
func inSeconds(nanos *big.Int) float64 {
	whole, rest := new(big.Int).QuoRem(nanos, billion, new(big.Int))
	w, _ := new(big.Float).SetInt(whole).Float64()
	return w + float64(rest.Int64())/1e9
}

// exactly is spec/engine.md 3.4 word for word.
func exactly(ms, ratio float64) float64 {
	seconds := inSeconds(exactNanos(ms / 1000))
	if ratio > 0 {
		seconds = inSeconds(exactNanos(seconds / ratio))
	}
	ms = float64(seconds * 1000)
	return float64(inSeconds(exactNanos(ms/1000)) * 1000)
}

// hostile draws prices in ms of every size, and some that lie next to a tie, on a
// tie, next to a whole second and next to the bounds in nanos.go.
func hostile(r *rand.Rand) float64 {
	steps := func(x float64) float64 {
		for range r.IntN(4) {
			x = math.Nextafter(x, math.Inf(1-2*r.IntN(2)))
		}
		return math.Abs(x)
	}
	switch r.IntN(8) {
	case 0:
		return r.Float64() * 100
	case 1:
		return math.Ldexp(1+r.Float64(), r.IntN(1120)-1050)
	case 2: // half a nanosecond
		return steps((float64(r.Int64N(1<<uint(1+r.IntN(50)))) + 0.5) / 1e6)
	case 3: // j/1024 s is a tie for odd j
		return float64(2*r.Int64N(1<<uint(1+r.IntN(30)))+1) * 1000 / 1024
	case 4:
		return steps(float64(r.Int64N(1<<uint(1+r.IntN(53)))) * 1000)
	case 5:
		return steps(float64(r.Int64N(1<<40))*1000 + 999.9999995)
	case 6:
		return steps([]float64{steady, fractional, steady - 1}[r.IntN(3)] * 1000)
	default:
		return steps(float64(r.Int64N(1<<50)) / 1e6)
	}
}

// Every price is the reference's to the bit, one by one and in bulk.
func TestRoundingIsExact(t *testing.T) {
	values := 1_000_000
	if testing.Short() {
		values = 50_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, ratio := range []float64{1, 0, 2, 3, 0.7, 1e-7} {
		bulk := make([]float64, 1)
		n := values / 10
		if ratio == 1 {
			n = values
		}
		for range n {
			ms := hostile(r)
			if ms/1000/max(ratio, 1e-7) >= longest {
				continue
			}
			want := exactly(ms, ratio)
			got, err := wholeNanos(ms, ratio)
			if err != nil || got != want {
				t.Fatalf("scaled(%v, %v): %v, %v, want %v", ms, ratio, got, err, want)
			}
			bulk[0] = ms
			if _, err := allWholeNanos(bulk, ratio); err != nil || bulk[0] != want {
				t.Fatalf("scaled(%v, %v) in bulk: %v, %v, want %v", ms, ratio, bulk[0], err, want)
			}
		}
	}
}

// The test above might draw no tie at all; these are ties, and products that round
// to one.
func TestTiesAreBrokenByTheExactValue(t *testing.T) {
	for _, c := range []struct{ seconds, wantNanos float64 }{
		{1. / 1024, 976562},                  // 976562.5 exactly: to even
		{3. / 1024, 2929688},                 // 2929687.5 exactly: to even
		{math.Nextafter(1./1024, 1), 976563}, // just above
		{math.Nextafter(1./1024, 0), 976562}, // just below
		{2.5e-9, 3},                          // the double is above, even would be 2
		{3.5e-9, 3},                          // the double is below, even would be 4
		{0.9999999995, 1e9 - 1},              // the double is below
		{0.99999999951, 1e9},                 // a whole second
	} {
		if got := exactNanos(c.seconds); got.Cmp(big.NewInt(int64(c.wantNanos))) != 0 {
			t.Errorf("reference of %v s: %v ns, want %v", c.seconds, got, c.wantNanos)
		}
		if got := round(c.seconds); got != c.wantNanos/1e9 {
			t.Errorf("%v s: %v, want %v ns", c.seconds, got, c.wantNanos)
		}
	}
}

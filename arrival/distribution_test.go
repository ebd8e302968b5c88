package arrival

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLengthsAreWholeAndAtLeastOne(t *testing.T) {
	for _, c := range []struct {
		draw float64
		want int32
	}{
		{-5, 1}, {0, 1}, {0.4, 1}, {1.49, 1}, {1.5, 2}, {2.5, 3}, {1e300, math.MaxInt32}, {math.MaxInt32, math.MaxInt32}, {math.MaxInt32 + 1, math.MaxInt32},
	} {
		if got := Tokens(c.draw); got != c.want {
			t.Errorf("%v: %d tokens, want %d", c.draw, got, c.want)
		}
	}
}

func TestPausesAreWholeMicroseconds(t *testing.T) {
	for _, c := range []struct{ draw, want float64 }{
		{-5, 0}, {0, 0}, {0.00049, 0}, {0.0005, 0.001}, {12.3456, 12.346}, {1e12 + 0.1234, 1e12 + 0.123},
	} {
		if got := Pause(c.draw); got != c.want {
			t.Errorf("%v: %v ms, want %v", c.draw, got, c.want)
		}
	}
}

// Each whole number comes about equally often, the bounds too.
func TestUniformIncludesItsBounds(t *testing.T) {
	r, count := NewRand(42, "uniform"), map[float64]int{}
	for range 60_000 {
		count[Uniform{1, 6}.Draw(r)]++
	}
	for v := 1.0; v <= 6; v++ {
		if n := count[v]; math.Abs(float64(n-10_000)) > 4*math.Sqrt(10_000*5./6) {
			t.Errorf("%v came %d times of 60,000", v, n)
		}
	}
	if len(count) != 6 {
		t.Errorf("numbers %v", count)
	}
	if got := (Uniform{math.MinInt32, math.MaxInt32}).Draw(r); got != math.Trunc(got) {
		t.Errorf("widest range drew %v", got)
	}
}

// The largest uniform number below 1 times a sum stays below the sum, so the draw of
// an empirical distribution finds a value whose weight is not 0.
func TestNoWeightIsOverrun(t *testing.T) {
	const largest = 1 - 1./(1<<53)
	rapid.Check(t, func(t *rapid.T) {
		sum := rapid.Float64Range(math.SmallestNonzeroFloat64*(1<<53), math.MaxFloat64).Draw(t, "sum")
		if largest*sum >= sum {
			t.Fatalf("%v is reached", sum)
		}
	})
	e := must(NewEmpirical([]float64{1, 2, 3, 4}, []float64{0, 1, 0, 0}))
	for r, i := NewRand(42, "zero"), 0; i < 1000; i++ {
		if got := e.Draw(r); got != 2 {
			t.Fatalf("drew %v, whose weight is 0", got)
		}
	}
}

func TestExpectedIsTheMean(t *testing.T) {
	for _, c := range []struct {
		d    Distribution
		want float64
	}{
		{Fixed{7}, 7}, {Uniform{3, 6}, 4.5}, {Normal{10, 5}, 10}, {Exponential{9}, 9}, {NewLogNormal(1024, 512), 1024},
		{must(NewEmpirical([]float64{0, 10}, []float64{3, 1})), 2.5}, {must(NewEmpirical([]float64{0, 10}, nil)), 5},
		{Clipped{Of: Fixed{7}, Max: 5}, math.NaN()}, {DistributionFunc(func(*Rand) float64 { return 1 }), math.NaN()},
	} {
		if got := c.d.Expected(); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%+v: %v, want %v", c.d, got, c.want)
		}
	}
}

func TestDistributionSettingsNameWhatIsWrong(t *testing.T) {
	num := func(v float64) *float64 { return &v }
	type settings = DistributionSettings
	for _, c := range []struct {
		s    settings
		want string // "" for good settings
	}{
		{settings{Distribution: "fixed", Value: num(3)}, ""},
		{settings{Distribution: "uniform", Min: num(3), Max: num(3)}, ""},
		{settings{Distribution: "uniform", Mean: num(100), RangeRatio: num(0.2)}, ""},
		{settings{Distribution: "normal", Mean: num(100), StdDev: num(0.2), Min: num(0), Max: num(2)}, ""},
		{settings{Distribution: "lognormal", Mean: num(100), StdDev: num(0.2), Max: num(2)}, ""},
		{settings{Distribution: "exponential", Mean: num(100), Min: num(5)}, ""},
		{settings{Distribution: "empirical", Values: []float64{3}}, ""},
		{settings{}, "distribution: : want one of empirical, exponential, fixed, lognormal, normal, uniform"},
		{settings{Distribution: "fixed"}, "value: not set: want a value: fixed needs it"},
		{settings{Distribution: "fixed", Value: num(-1)}, "value: -1: want at least 0"},
		{settings{Distribution: "fixed", Value: num(1), Min: num(1)}, "min: set: want nothing: fixed does not use it"},
		{settings{Distribution: "uniform", Min: num(3), Mean: num(3)}, "distribution: uniform: want min and max, or mean and range_ratio"},
		{settings{Distribution: "uniform", Min: num(3), Max: num(2)}, "max: 2: want at least min"},
		{settings{Distribution: "uniform", Mean: num(3), RangeRatio: num(2)}, "range_ratio: 2: want a number from 0 to 1"},
		{settings{Distribution: "uniform", Min: num(3), Max: num(3e9)}, "distribution: uniform: want numbers below 2^31"},
		{settings{Distribution: "normal", Mean: num(-1), StdDev: num(-2)}, "mean: -1: want at least 0\nstd: -2: want at least 0"},
		{settings{Distribution: "normal", Mean: num(1), StdDev: num(2), Min: num(5), Max: num(4)}, "max: 4: want at least min and at least 0"},
		{settings{Distribution: "lognormal", Mean: num(0), StdDev: num(2)}, "mean: 0: want above 0\nstd: 2: want from 0 to a million times the mean"},
		{settings{Distribution: "exponential", Mean: num(-1)}, "mean: -1: want at least 0"},
		{settings{Distribution: "exponential", Mean: num(math.NaN())}, "mean: NaN: want a finite number"},
		{settings{Distribution: "empirical", Values: []float64{}}, "values: an empty list: want at least one number"},
		{settings{Distribution: "empirical", Values: []float64{1, -1}, Weights: []float64{1}}, "values.1: -1: want a finite number, at least 0\nweights: 1 numbers: want 2, one for each value"},
		{settings{Distribution: "empirical", Values: []float64{1}, Weights: []float64{0}}, "weights: sum 0: want a finite sum above 0"},
		{settings{Distribution: "empirical", Values: []float64{1}, Weights: []float64{math.NaN()}}, "weights.0: NaN: want a finite number, at least 0\nweights: sum NaN: want a finite sum above 0"},
	} {
		d, err := NewDistribution(c.s)
		if got := text(err); got != c.want || (d == nil) != (err != nil) {
			t.Errorf("got  %s, %v\nwant %s", got, d, c.want)
		}
	}
}

// Whatever settings are accepted, draws are finite and inside min and max.
func TestAcceptedSettingsDrawWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(0, 1e4).Draw(t, "min")
		high := low + rapid.Float64Range(0, 1e4).Draw(t, "width")
		mean, std := rapid.Float64Range(1, 1e5).Draw(t, "mean"), rapid.Float64Range(0, 1e5).Draw(t, "std")
		ratio := rapid.Float64Range(0, 1).Draw(t, "ratio")
		s := rapid.SampledFrom([]DistributionSettings{
			{Distribution: "normal", Mean: &mean, StdDev: &std, Min: &low, Max: &high},
			{Distribution: "lognormal", Mean: &mean, StdDev: &std, Min: &low, Max: &high},
			{Distribution: "exponential", Mean: &mean, Min: &low, Max: &high},
			{Distribution: "empirical", Values: []float64{mean, std}, Min: &low, Max: &high},
			{Distribution: "uniform", Min: &low, Max: &high},
			{Distribution: "uniform", Mean: &mean, RangeRatio: &ratio},
		}).Draw(t, "settings")
		if s.RangeRatio != nil {
			low, high = mean*(1-ratio), mean*(1+ratio)
		}
		d, err := NewDistribution(s)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRand(rapid.Uint64().Draw(t, "seed"), "draw")
		for range 20 {
			if x := d.Draw(r); !(x >= math.Round(low)-1 && x <= math.Round(high)+1) || s.Distribution != "uniform" && (x < low || x > high) {
				t.Fatalf("drew %v outside [%v, %v]", x, low, high)
			}
		}
	})
}

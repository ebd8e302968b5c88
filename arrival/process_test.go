package arrival

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// V-34 of spec/replay.md 10.
func TestConstantRateIsEvenlySpaced(t *testing.T) {
	times := NewTimes(Constant{PerSecond: 10}, nil)
	for i, want := range []float64{0, 100, 200, 300} {
		if got := times.Next(); got != want {
			t.Errorf("V-34: arrival %d at %v, want %v", i, got, want)
		}
	}
}

// Times of a constant rate are not sums of gaps: no error builds up.
func TestConstantRateDoesNotDrift(t *testing.T) {
	times, last := NewTimes(Constant{PerSecond: 3}, nil), 0.0
	for range 3_000_001 {
		last = times.Next()
	}
	if last != 1e9 {
		t.Errorf("arrival 3,000,000 at %v ms, want 1e9", last)
	}
}

func TestTimesAreWholeMicrosecondsAndNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e-3, 1e6).Draw(t, "rate")
		p := rapid.SampledFrom([]Process{
			Burst{}, Constant{rate}, Poisson{rate},
			Gamma{rate, rapid.Float64Range(1e-6, 1e6).Draw(t, "smoothness")},
		}).Draw(t, "process")
		times, before := NewTimes(p, NewRand(rapid.Uint64().Draw(t, "seed"), "times")), 0.0
		for i := range 50 {
			at := times.Next()
			if i == 0 && at != 0 || at < before || at != Micros(at) || math.IsInf(at, 1) {
				t.Fatalf("arrival %d at %v after %v", i, at, before)
			}
			before = at
		}
	})
}

// Over many arrivals every process keeps its rate, and a gamma process the
// variation of its gaps.
func TestProcessesKeepTheirRate(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		name string
		p    Process
		cv   float64
	}{
		{"constant", Constant{PerSecond: 20}, 0},
		{"poisson", Poisson{PerSecond: 20}, 1},
		{"gamma, bursty", Gamma{PerSecond: 20, Smoothness: 0.25}, 2},
		{"gamma, even", Gamma{PerSecond: 20, Smoothness: 16}, 0.25},
	} {
		times := NewTimes(c.p, NewRand(42, "rate"))
		var before, squares float64
		mean := 1000 / c.p.Rate()
		for range n {
			at := times.Next()
			squares += (at - before - mean) * (at - before - mean)
			before = at
		}
		if got, se := before/(n-1)/mean, c.cv/math.Sqrt(n); math.Abs(got-1) > 4*se+1e-6 {
			t.Errorf("%s: %v times the mean gap, want 1 ± %.2g", c.name, got, se)
		}
		kurtosis := 3 + 6*c.cv*c.cv // of gamma gaps, those of poisson too
		if got, se := math.Sqrt(squares/n)/mean, c.cv*math.Sqrt((kurtosis-1)/n)/2; math.Abs(got-c.cv) > 4*se+3e-3 {
			t.Errorf("%s: coefficient of variation %v, want %v ± %.2g", c.name, got, c.cv, se)
		}
	}
}

func TestAProcessThatGoesBackIsCaught(t *testing.T) {
	for _, bad := range []float64{-1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("arrival at %v was taken", bad)
				}
			}()
			times := NewTimes(ProcessFunc(func(int64, float64, *Rand) float64 { return bad }), nil)
			times.Next()
			times.Next()
		}()
	}
}

func TestProcessSettingsNameWhatIsWrong(t *testing.T) {
	num := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		s    ProcessSettings
		want string // "" for good settings
	}{
		{ProcessSettings{Process: "burst"}, ""},
		{ProcessSettings{Process: "constant", Rate: num(2)}, ""},
		{ProcessSettings{Process: "poisson", Rate: num(2)}, ""},
		{ProcessSettings{Process: "gamma", Rate: num(2), CV: num(2)}, ""},
		{ProcessSettings{Process: "gamma", Rate: num(2), Smoothness: num(2)}, ""},
		{ProcessSettings{Process: "bursts"}, "process: bursts: want one of burst, constant, gamma, poisson"},
		{ProcessSettings{Process: "burst", Rate: num(1)}, "rate: set: want nothing: burst does not use it"},
		{ProcessSettings{Process: "constant"}, "rate: not set: want a value: constant needs it"},
		{ProcessSettings{Process: "poisson", Rate: num(0)}, "rate: 0: want arrivals per second, from 1e-9 to 1e9"},
		{ProcessSettings{Process: "poisson", Rate: num(math.Inf(1))}, "rate: +Inf: want a finite number"},
		{ProcessSettings{Process: "poisson", Rate: num(1), CV: num(1)}, "cv: set: want nothing: poisson does not use it"},
		{ProcessSettings{Process: "gamma", Rate: num(2)}, "smoothness: not set: want a number, or cv instead"},
		{ProcessSettings{Process: "gamma", Rate: num(2), CV: num(2), Smoothness: num(2)}, "cv: 2: want nothing beside smoothness, which is 1/cv²"},
		{ProcessSettings{Process: "gamma", Rate: num(2), CV: num(0)}, "cv: 0: want a number from 0.001 to 1000"},
		{ProcessSettings{Process: "gamma", Rate: num(-2), Smoothness: num(-1)}, "rate: -2: want arrivals per second, from 1e-9 to 1e9\nsmoothness: -1: want a number from 1e-6 to 1e6"},
	} {
		p, err := NewProcess(c.s)
		if got := text(err); got != c.want || (p == nil) != (err != nil) {
			t.Errorf("got  %s, %v\nwant %s", got, p, c.want)
		}
	}
	if p, _ := NewProcess(ProcessSettings{Process: "gamma", Rate: num(2), CV: num(2)}); p != (Gamma{PerSecond: 2, Smoothness: 0.25}) {
		t.Errorf("cv 2 is %+v, want smoothness 1/4", p)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEveryPolicyHasADescription(t *testing.T) {
	for _, name := range append(Processes(), Distributions()...) {
		if strings.TrimSpace(About(name)) == "" {
			t.Errorf("%s has none", name)
		}
	}
}

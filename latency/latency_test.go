package latency

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// prefill is a pass of batch prompts of equal length without cached tokens.
func prefill(batch, tokens int64) *Pass {
	var p Pass
	for range batch {
		p.AddPrefill(tokens, 0)
	}
	return &p
}

// decode is a decode pass over context tokens of a pool.
func decode(context, pool int64) *Pass {
	return &Pass{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: context, PoolTokens: pool}
}

func polynomial(t testing.TB, speedup float64) Model {
	s := Defaults()
	s.Speedup = speedup
	return mustNew(t, s)
}

// TIM-4 to TIM-16 of spec/engine.md 15.2.
func TestPolynomialPricesAreThoseOfTheReference(t *testing.T) {
	for _, c := range []struct {
		id      string
		pass    *Pass
		speedup float64
		want    Duration
	}{
		{"TIM-4", &Pass{PrefillSeqs: 1, PrefillBefore: 128}, 1, Duration{}},
		{"TIM-5 above", decode(2048, 1024), 1, Duration{DecodeMs: 34.01}},
		{"TIM-5 full", decode(1024, 1024), 1, Duration{DecodeMs: 34.01}},
		{"TIM-5 no pool", decode(1, 0), 1, Duration{DecodeMs: 34.01}},
		{"TIM-6", prefill(1, 1), 1, Duration{PrefillMs: 16.516604}},
		{"TIM-7", prefill(1, 4), 1, Duration{PrefillMs: 16.56216}},
		{"TIM-7", prefill(1, 4), 2, Duration{PrefillMs: 8.28108}},
		{"TIM-7", prefill(1, 4), 3, Duration{PrefillMs: 5.52072}},
		{"TIM-8", prefill(1, 8), 1, Duration{PrefillMs: 16.622913999999998}},
		{"TIM-8", prefill(1, 8), 2, Duration{PrefillMs: 8.311456999999999}},
		{"TIM-8", prefill(1, 8), 3, Duration{PrefillMs: 5.540971}},
		{"TIM-9", prefill(1, 100), 1, Duration{PrefillMs: 18.023974000000003}},
		{"TIM-9", prefill(1, 100), 2, Duration{PrefillMs: 9.011987000000001}},
		{"TIM-10", prefill(1, 512), 1, Duration{PrefillMs: 24.385704}},
		{"TIM-10", prefill(1, 1024), 1, Duration{PrefillMs: 32.490711999999995}},
		{"TIM-10", prefill(4, 256), 1, Duration{PrefillMs: 32.490711999999995}},
		{"TIM-11", prefill(1, 4096), 1, Duration{PrefillMs: 85.75598}},
		{"TIM-11", prefill(1, 8192), 1, Duration{PrefillMs: 169.136918}},
		{"TIM-11", prefill(1, 16384), 1, Duration{PrefillMs: 378.277933}},
		{"TIM-11", prefill(1, 32768), 1, Duration{PrefillMs: 966.076509}},
		{"TIM-12", prefill(2, 6), 1, Duration{PrefillMs: 16.683681999999997}},
		{"TIM-12", prefill(2, 6), 2, Duration{PrefillMs: 8.341840999999999}},
		{"TIM-13", decode(0, 1024), 1, Duration{DecodeMs: 5.74}},
		{"TIM-13", decode(512, 1024), 1, Duration{DecodeMs: 26.31}},
		{"TIM-13", decode(1024, 1024), 1, Duration{DecodeMs: 34.01}},
		{"TIM-14", decode(1, 1<<20), 1, Duration{DecodeMs: 5.7400519999999995}},
		{"TIM-14", decode(100, 1<<20), 1, Duration{DecodeMs: 5.745151000000001}},
		{"TIM-14", decode(4096, 1<<20), 1, Duration{DecodeMs: 5.950584}},
		{"TIM-14", decode(262144, 1<<20), 1, Duration{DecodeMs: 17.63375}},
		{"TIM-14", decode(524288, 1<<20), 1, Duration{DecodeMs: 26.31}},
		{"TIM-15", decode(18, 24), 1, Duration{DecodeMs: 31.768749999999997}},
		{"TIM-15", decode(13, 24), 1, Duration{DecodeMs: 27.443229}},
		{"TIM-15", decode(18, 24), 2, Duration{DecodeMs: 15.884374999999999}},
		{"TIM-15", decode(13, 24), 2, Duration{DecodeMs: 13.721614}},
		{"TIM-16", &Pass{PrefillSeqs: 2, PrefillNew: 12}, 1, Duration{PrefillMs: 16.683681999999997}},
	} {
		got, err := polynomial(t, c.speedup).Cost(c.pass)
		if err != nil || got != c.want {
			t.Errorf("%s, speedup %v: %+v, %v, want %+v", c.id, c.speedup, got, err, c.want)
		}
	}
}

// TIM-6 to TIM-8 of spec/engine.md 15.2 and V-98 of spec/replay.md 10: prices
// before any rounding.
func TestRawPolynomialIsEvaluatedInTheReferencesOrder(t *testing.T) {
	for _, c := range []struct {
		id   string
		pass *Pass
		want Duration
	}{
		{"TIM-6", prefill(1, 1), Duration{PrefillMs: 16.5166038609989}},
		{"TIM-7", prefill(1, 4), Duration{PrefillMs: 16.5621604959824}},
		{"TIM-8", prefill(1, 8), Duration{PrefillMs: 16.6229144639296}},
		{"TIM-9", prefill(1, 100), Duration{PrefillMs: 18.023973988999998}},
		{"V-98", prefill(1, 1024), Duration{PrefillMs: 32.4907119025664}},
		{"V-98", decode(1, 2), Duration{DecodeMs: 26.310000000000002}}, // 26.31 in decimals
	} {
		if got, err := (Polynomial{}).Cost(c.pass); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.id, got, err, c.want)
		}
	}
}

// TIM-3 of spec/engine.md 15.2.
func TestFixedChargesOnlyForWorkThatIsThere(t *testing.T) {
	m := fixed(t, 7, 3)
	for _, c := range []struct {
		pass Pass
		want Duration
	}{
		{Pass{}, Duration{}},
		{Pass{PrefillSeqs: 2, PrefillBefore: 256}, Duration{}},
		{Pass{PrefillSeqs: 2, PrefillNew: 256}, Duration{PrefillMs: 7}},
		{Pass{DecodeSeqs: 2, DecodeNew: 2, DecodeContext: 9}, Duration{DecodeMs: 3}},
		{Pass{PrefillSeqs: 1, PrefillNew: 9, DecodeSeqs: 2, DecodeNew: 2, DecodeContext: 9}, Duration{7, 3}},
	} {
		if got, err := m.Cost(&c.pass); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.pass, got, err, c.want)
		}
	}
}

func fixed(t testing.TB, prefillMs, decodeMs float64) Model {
	s := Defaults()
	s.Model, s.PrefillMs, s.DecodeMs = "fixed", &prefillMs, &decodeMs
	return mustNew(t, s)
}

// Two means are rounded down before they are subtracted: 7 and 2 tokens behind 1
// and 0 are 4 − 0, not 3.5 or 4.5.
func TestMeansAreRoundedDownOneByOne(t *testing.T) {
	var p Pass
	p.AddPrefill(6, 1)
	p.AddPrefill(2, 0)
	want, _ := polynomial(t, 1).Cost(prefill(2, 4))
	if got, err := polynomial(t, 1).Cost(&p); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestDecodeSpeedupCountsOnTopOfSpeedup(t *testing.T) {
	s := Defaults()
	s.Speedup, s.DecodeSpeedup = 2, 1.5
	p := prefill(1, 8)
	p.DecodeSeqs, p.DecodeContext, p.PoolTokens = 1, 18, 24
	raw, _ := Polynomial{}.Cost(p)
	want := Duration{exactly(raw.PrefillMs, 2), exactly(raw.DecodeMs, 3)}
	if got, err := mustNew(t, s).Cost(p); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Decodes is Cost on pass after pass, to the bit, for every model, pool and
// speed-up.
func TestDecodesEqualCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Defaults()
		s.Model = rapid.SampledFrom(Names()).Draw(t, "model")
		if s.Model == "fixed" {
			one, two := rapid.Float64Range(0, 1e6).Draw(t, "prefill"), rapid.Float64Range(0, 1e13).Draw(t, "decode")
			s.PrefillMs, s.DecodeMs = &one, &two
		}
		ratio := rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(1e-3, 100))
		s.Speedup, s.DecodeSpeedup = ratio.Draw(t, "speedup"), ratio.Draw(t, "decode speedup")
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		p := Pass{DecodeSeqs: rapid.Int64Range(0, 300).Draw(t, "seqs")}
		p.DecodeNew = p.DecodeSeqs
		p.DecodeContext = rapid.Int64Range(p.DecodeSeqs, 1<<21).Draw(t, "context")
		p.PoolTokens = rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(1<<20)), rapid.Int64Range(1, 1<<21)).Draw(t, "pool")
		dst := make([]float64, rapid.IntRange(0, 40).Draw(t, "passes"))
		if err := m.Decodes(&p, dst); err != nil {
			t.Fatal(err)
		}
		for i, got := range dst {
			want, err := m.Cost(&p)
			if err != nil || got != want.DecodeMs || want.PrefillMs != 0 {
				t.Fatalf("pass %d: %v, Cost says %+v, %v", i, got, want, err)
			}
			p.DecodeContext += p.DecodeNew
		}
	})
}

func TestPricesDoNotAllocate(t *testing.T) {
	m, dst, p := polynomial(t, 3), make([]float64, 16), prefill(2, 9)
	p.DecodeSeqs, p.DecodeNew, p.DecodeContext, p.PoolTokens = 4, 4, 100, 1000
	if n := testing.AllocsPerRun(10, func() {
		if m.Decodes(p, dst) != nil {
			t.Fatal("no price")
		}
		if _, err := m.Cost(p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// raw is a model that answers what it is told.
type raw struct{ prefillMs, decodeMs float64 }

func (raw) Name() string                   { return "raw" }
func (raw) Needs() Detail                  { return Rows }
func (r raw) Cost(*Pass) (Duration, error) { return Duration{r.prefillMs, r.decodeMs}, nil }
func (r raw) Decodes(_ *Pass, dst []float64) error {
	for i := range dst {
		dst[i] = r.decodeMs
	}
	return nil
}
func (raw) Predicts() string { return "a GPU" }

// TIM-2 of spec/engine.md 15.2, and the rules for answers of 3.2.
func TestPricesThatAreNoneAreRefused(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		raw raw
		ok  bool
	}{
		{raw{-1, 0}, true}, {raw{0, 0}, true}, {raw{1e21, 1e21}, true},
		{raw{nan, 0}, false}, {raw{inf, 0}, false}, {raw{-inf, 0}, false}, {raw{1e23, 0}, false},
		{raw{0, nan}, false}, {raw{0, inf}, false}, {raw{0, -1}, false}, {raw{0, 1e23}, false},
	} {
		m, err := Scale(c.raw, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Cost(&Pass{})
		if (err == nil) != c.ok || err == nil && (d.PrefillMs < 0 || d.DecodeMs < 0) {
			t.Errorf("%+v: %+v, %v", c.raw, d, err)
		}
		err = m.Decodes(&Pass{DecodeNew: 2, DecodeContext: 5}, make([]float64, 1))
		if wantOK := c.ok || c.raw.decodeMs == 0; (err == nil) != wantOK {
			t.Errorf("%+v: Decodes says %v", c.raw, err)
		} else if err != nil && !strings.Contains(err.Error(), "raw (speedup 1), decode of pass") {
			t.Errorf("%v does not say what was priced by whom", err)
		}
	}
	for _, ratio := range []float64{nan, inf, -1} {
		if _, err := Scale(raw{}, ratio, 1); err == nil {
			t.Errorf("speed-up %v was taken", ratio)
		}
		if _, err := Scale(raw{}, 1, ratio); err == nil {
			t.Errorf("decode speed-up %v was taken", ratio)
		}
	}
}

func TestEveryModelSaysWhatItIs(t *testing.T) {
	s := Defaults()
	s.Speedup, s.DecodeSpeedup = 2, 1.5
	scaledRaw, err := Scale(raw{}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m              Model
		name, predicts string
		needs          Detail
	}{
		{polynomial(t, 1), "polynomial (speedup 1)", "", Sums},
		{mustNew(t, s), "polynomial (speedup 2, decode speedup 1.5)", "", Sums},
		{fixed(t, 7, 0.5), "fixed prefill 7 ms, decode 0.5 ms (speedup 1)", "", Sums},
		{scaledRaw, "raw (speedup 1)", "a GPU", Rows},
	} {
		if c.m.Name() != c.name || Predicts(c.m) != c.predicts || c.m.Needs() != c.needs {
			t.Errorf("%q predicts %q, needs %d; want %q, %q, %d", c.m.Name(), Predicts(c.m), c.m.Needs(), c.name, c.predicts, c.needs)
		}
	}
	for _, name := range Names() {
		if About(name) == "" {
			t.Errorf("model %s has no description", name)
		}
	}
}

// The longest prices and the smallest speed-ups that settings may name still make a
// duration.
func TestPricesWithinTheBoundsAreDurations(t *testing.T) {
	s, longest := Defaults(), longestTime
	s.Model, s.PrefillMs, s.DecodeMs, s.Speedup = "fixed", &longest, &longest, smallestSpeedup
	p := prefill(1, 4)
	p.DecodeSeqs, p.DecodeNew, p.DecodeContext = 1, 1, 5
	if d, err := mustNew(t, s).Cost(p); err != nil || d.PrefillMs != 1e21 || d.DecodeMs != 1e21 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestSettingsNameWhatIsWrong(t *testing.T) {
	one, bad := 1.0, math.Inf(1)
	for _, c := range []struct {
		change func(*Settings)
		want   string // "" for good settings
	}{
		{func(*Settings) {}, ""},
		{func(s *Settings) { s.Speedup, s.DecodeSpeedup = 0, 0 }, ""},
		{func(s *Settings) { s.Model, s.PrefillMs, s.DecodeMs = "fixed", &one, &one }, ""},
		{func(s *Settings) { s.Model = "cubic" }, `model: cubic: want one of fixed, polynomial`},
		{func(s *Settings) { s.Speedup = -1 }, "speedup: -1: want " + wantSpeedup},
		{func(s *Settings) { s.DecodeSpeedup = math.NaN() }, "decode_speedup: NaN: want " + wantSpeedup},
		{func(s *Settings) { s.HostUs = bad }, "host_us: +Inf: want " + wantTime},
		{func(s *Settings) { s.RequestUs = -1 }, "request_us: -1: want " + wantTime},
		{func(s *Settings) { s.Speedup = 1e-320 }, "speedup: 1e-320: want " + wantSpeedup},
		{func(s *Settings) { s.Speedup, s.DecodeSpeedup = 1e-5, 1e-5 }, "decode_speedup: 1e-05: want a product with speedup that is 0, or from 1e-06 to 1e+15"},
		{func(s *Settings) { s.DecodeMs = &one }, "decode_ms: set: want nothing: model polynomial does not use it"},
		{func(s *Settings) { s.Model, s.DecodeMs = "fixed", &one }, "prefill_ms: not set: want a price in ms: model fixed needs it"},
		{func(s *Settings) { s.Model, s.PrefillMs, s.DecodeMs = "fixed", &one, &bad }, "decode_ms: +Inf: want " + wantTime},
		{func(s *Settings) { s.Speedup, s.HostUs = -1, -2 }, "speedup: -1: want " + wantSpeedup + "\nhost_us: -2: want " + wantTime},
	} {
		s := Defaults()
		c.change(&s)
		got := ""
		if err := s.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if m, err := New(s); (err == nil) != (c.want == "") || (m == nil) != (err != nil) {
			t.Errorf("New: %v, %v, Validate: %q", m, err, c.want)
		}
	}
}

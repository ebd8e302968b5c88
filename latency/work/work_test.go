package work

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/precision"
)

// deploy spreads a model of the catalogue; bf16 cache, uniform routing.
func deploy(t testing.TB, model string, l Layout) *Deployment {
	t.Helper()
	m, err := arch.Find(model)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Deployment{Model: m, Layout: l, Weights: m.Weights, Cache: precision.BF16})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// decodes is a pass of n decodes that attend to context tokens each.
func decodes(n, context int64) latency.Pass {
	return latency.Pass{DecodeSeqs: n, DecodeNew: n, DecodeContext: n * context, Sampled: n}
}

// prompt is a pass of one chunk of new tokens behind others.
func prompt(n, before int64) latency.Pass {
	p := latency.Pass{Sampled: 1}
	p.AddPrefill(n, before)
	return p
}

// group is what a table row of the specification sums up.
type group struct{ flops, bytes float64 }

// sums adds up the operators of a pass by the columns of spec/latency.md 1.19: of
// matrix products the bytes of weights, of attention those of the cache.
func sums(d *Deployment, p latency.Pass) (map[string]group, float64) {
	s := Of(&p, 1)
	columns := map[string]string{
		"qkv": "projections", "output": "projections", "mlp-up": "mlp", "mlp-down": "mlp", "experts": "mlp",
		"context-attention": "prefill", "decode-attention": "decode", "head": "head",
	}
	got, message := map[string]group{}, 0.0
	for _, o := range d.Ops(&s, nil) {
		if o.Class == AllReduce {
			message += float64(o.Times) * o.Message
		}
		if c, ok := columns[o.Name]; ok {
			g := got[c]
			g.flops += float64(o.Times) * o.FLOPs
			g.bytes += float64(o.Times) * (o.Weights + o.Cache)
			got[c] = g
		}
	}
	return got, message
}

// near is whether got prints as want with the digits that want has.
func near(got, want float64) bool {
	if want == 0 {
		return got == 0
	}
	text := fmt.Sprintf("%.4g", want)
	return fmt.Sprintf("%.4g", got) == text || math.Abs(got/want-1) < 5e-4
}

// The table of spec/latency.md 1.19, in GFLOP and GB of one GPU.
func TestWorkIsThatOfTheGoldenTable(t *testing.T) {
	mixed := prompt(1984, 0)
	for range 64 {
		mixed.AddDecode(2048)
	}
	mixed.Sampled = 65
	for _, c := range []struct {
		model     string
		layout    Layout
		pass      latency.Pass
		want      map[string]group
		messageMB float64
	}{
		{"llama-3.1-8b", Sole(), decodes(32, 2048), map[string]group{
			"projections": {85.9, 2.684}, "decode": {34.36, 8.590}, "mlp": {360.8, 11.27}, "head": {33.62, 1.051}}, 0},
		{"llama-3.1-8b", Sole(), prompt(2048, 0), map[string]group{
			"projections": {5498, 2.684}, "prefill": {1100, 0.268}, "mlp": {23090, 11.27}}, 0},
		{"llama-3.1-8b", Sole(), mixed, map[string]group{
			"projections": {5498, 2.684}, "prefill": {1032, 0.260}, "decode": {68.7, 17.18}, "mlp": {23090, 11.27}, "head": {68.29, 1.051}}, 0},
		{"llama-3.1-70b", Tensor(4), decodes(32, 2048), map[string]group{
			"projections": {193.3, 6.040}, "decode": {42.95, 5.369}, "mlp": {901.9, 28.19}, "head": {16.81, 0.525}}, 83.9},
		{"llama-3.1-70b", Tensor(4), prompt(2048, 30720), map[string]group{
			"projections": {12370, 6.040}, "prefill": {42610, 2.684}, "mlp": {57720, 28.19}}, 5369},
		{"qwen3-14b", Sole(), decodes(32, 2048), map[string]group{
			"projections": {161.1, 5.033}, "decode": {53.69, 10.74}, "mlp": {684.5, 21.39}, "head": {49.79, 1.556}}, 0},
		{"qwen3-30b-a3b", Sole(), decodes(32, 2048), map[string]group{
			"projections": {57.98, 1.812}, "decode": {51.54, 6.442}, "mlp": {116, 50.63}, "head": {19.91, 0.622}}, 0},
	} {
		got, message := sums(deploy(t, c.model, c.layout), c.pass)
		for column, want := range c.want {
			g := got[column]
			if !near(g.flops/1e9, want.flops) && math.Abs(g.flops/1e9-want.flops) > 0.06 || math.Abs(g.bytes/1e9/want.bytes-1) > 2e-3 {
				t.Errorf("%s %s, %s: %.5g GFLOP, %.5g GB, want %v", c.model, c.layout, column, g.flops/1e9, g.bytes/1e9, want)
			}
		}
		if !near(message/1e6, c.messageMB) {
			t.Errorf("%s %s: %.5g MB in all-reduces, want %v", c.model, c.layout, message/1e6, c.messageMB)
		}
	}
}

// spec/latency.md 5.1: 111.77 of 128 experts for 32 tokens of 8, and the table of
// the exponential profile for 8 of 256.
func TestDistinctExpertsAreThoseOfTheTables(t *testing.T) {
	if got := newDistinct(128, 8, 0).at(32); math.Abs(got-111.77) > 0.005 {
		t.Errorf("128 experts, uniform: %v", got)
	}
	batches := []float64{1, 2, 4, 8, 16, 32, 64, 128}
	for _, c := range []struct {
		a    float64
		want []float64
	}{
		{0, []float64{8, 15.8, 30.5, 57.4, 102.0, 163.3, 222.4, 251.6}},
		{4.56, []float64{8, 15.4, 28.7, 50.4, 80.9, 116.4, 152.2, 185.9}},
		{6.70, []float64{8, 15.2, 27.4, 45.9, 69.5, 95.0, 120.9, 146.6}},
	} {
		d := newDistinct(256, 8, c.a)
		for i, want := range c.want {
			if got := d.at(batches[i]); math.Abs(got/want-1) > 0.01 {
				t.Errorf("a = %v, batch %v: %.2f, want %v", c.a, batches[i], got, want)
			}
		}
	}
}

// D(1) = k, D(∞) = E, and popularities are probabilities that sum to k.
func TestDistinctExpertsStartAtTopKAndEndAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.IntRange(2, 300).Draw(t, "experts")
		k := rapid.IntRange(1, e).Draw(t, "top k")
		a := rapid.Float64Range(0, 20).Draw(t, "a")
		sum := 0.0
		for _, p := range popularity(e, k, a) {
			if p < 0 || p > 1+1e-12 {
				t.Fatalf("probability %v", p)
			}
			sum += p
		}
		d := newDistinct(e, k, a)
		if math.Abs(sum-float64(k)) > 1e-9*float64(k) || math.Abs(d.at(1)-float64(k)) > 1e-9*float64(k) {
			t.Fatalf("Σπ = %v, D(1) = %v, want %d", sum, d.at(1), k)
		}
		for i := 1; i < len(d.byToken); i++ {
			if d.byToken[i] < d.byToken[i-1] || d.byToken[i] > float64(e)+1e-9 {
				t.Fatalf("D(%d) = %v after %v of %d", i, d.byToken[i], d.byToken[i-1], e)
			}
		}
	})
}

// Chunking a prompt conserves pairs, inside a window and without one.
func TestChunkingConservesPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Int64Range(0, 3000).Draw(t, "window")
		whole, chunked := latency.Pass{Window: w}, latency.Pass{Window: w}
		at := int64(0)
		for range rapid.IntRange(1, 6).Draw(t, "chunks") {
			n := rapid.Int64Range(1, 2000).Draw(t, "tokens")
			chunked.AddPrefill(n, at)
			at += n
		}
		whole.AddPrefill(at, 0)
		if whole.PrefillPairs != chunked.PrefillPairs || whole.WindowPairs != chunked.WindowPairs {
			t.Fatalf("whole %+v, chunked %+v", whole, chunked)
		}
		if w >= at && whole.WindowPairs != whole.PrefillPairs {
			t.Fatalf("a window of %d changes a prompt of %d", w, at)
		}
	})
}

// A pass that carries the sums of the window is priced by them; for sequences of equal
// length the means say the same.
func TestWindowsOfEqualSequencesNeedNoSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Int64Range(1, 500).Draw(t, "window")
		n := rapid.Int64Range(1, 8).Draw(t, "sequences")
		q, x := rapid.Int64Range(1, 600).Draw(t, "new"), rapid.Int64Range(0, 600).Draw(t, "before")
		p := latency.Pass{Window: w}
		for range n {
			p.AddPrefill(q, x)
			p.AddDecode(x + 1)
		}
		s := Of(&p, 1)
		exact := s.Within(int(w))
		s.window = 0
		if means := s.Within(int(w)); math.Abs(means.Pairs-exact.Pairs) > 1e-6*exact.Pairs || means.Decode != exact.Decode || means.Prefill != exact.Prefill {
			t.Fatalf("%+v by means, %+v by sums", means, exact)
		}
	})
}

// What one GPU does, tp GPUs do together: FLOPs of sharded operators sum up.
func TestShardsSumUpToTheWhole(t *testing.T) {
	p := prompt(700, 300)
	p.AddDecode(900)
	whole, _ := sums(deploy(t, "llama-3.1-70b", Sole()), p)
	for _, tp := range []int{2, 4, 8} {
		part, _ := sums(deploy(t, "llama-3.1-70b", Tensor(tp)), p)
		for column, w := range whole {
			if got := part[column].flops * float64(tp); math.Abs(got/w.flops-1) > 1e-12 {
				t.Errorf("TP%d, %s: %v FLOP, want %v", tp, column, got, w.flops)
			}
		}
	}
}

func TestLayoutsThatDoNotFitAreRefused(t *testing.T) {
	m, _ := arch.Find("qwen3-30b-a3b")
	for _, l := range []Layout{
		{}, Tensor(3), {TP: 1, DP: 2, PP: 1, ExpertTP: 1, ExpertEP: 1},
		{TP: 1, DP: 256, PP: 1, ExpertTP: 1, ExpertEP: 256}, {TP: 1, DP: 1, PP: 49, ExpertTP: 1, ExpertEP: 1},
	} {
		if _, err := New(Deployment{Model: m, Layout: l, Weights: m.Weights, Cache: precision.BF16}); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
}

// Every operator has a time to take: sizes are finite and not negative, for all
// models of the catalogue and layouts that fit them.
func TestOperatorsHaveSizes(t *testing.T) {
	p := prompt(500, 1000)
	for range 20 {
		p.AddDecode(3000)
	}
	for _, m := range arch.All() {
		for _, l := range []Layout{Sole(), {TP: 2, DP: 2, PP: 2, ExpertTP: 1, ExpertEP: 4}} {
			d, err := New(Deployment{Model: m, Layout: l, Weights: m.Weights, Cache: precision.FP8, Routing: Random})
			if err != nil {
				t.Fatal(m.Name, err)
			}
			s := Of(&p, l.PP)
			for _, o := range d.Ops(&s, nil) {
				for _, v := range []float64{o.FLOPs, o.Weights, o.Cache, o.Moved, o.Side, o.Message} {
					if !(v >= 0) || math.IsInf(v, 0) {
						t.Fatalf("%s %s: %+v", m.Name, l, o)
					}
				}
				if o.Times < 1 || o.FLOPs+o.Bytes()+o.Message == 0 {
					t.Fatalf("%s %s: %+v", m.Name, l, o)
				}
			}
		}
	}
}

func TestLogarithmOfRanks(t *testing.T) {
	for n := 1; n < 5000; n++ {
		if got := lnRanks(float64(n)); math.Abs(got-math.Log(float64(n))) > 1e-13 {
			t.Fatalf("ln %d = %v", n, got)
		}
	}
}

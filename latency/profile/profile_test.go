package profile

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

// The rules of spec/latency.md 4.3 on one axis: exact, linear between, held beyond up to
// twice the work, then clamped.
func TestAnswersSayWhereTheyAreFrom(t *testing.T) {
	table := NewTable(Linear)
	table.Light = func(p []float64) float64 { return p[0] }
	table.Add([]float64{10}, 100)
	table.Add([]float64{20}, 160)
	for _, c := range []struct {
		at, want float64
		from     latency.Provenance
	}{{10, 100, latency.Exact}, {15, 130, latency.Interpolated}, {20, 160, latency.Exact}, {30, 240, latency.Held}, {8, 80, latency.Held}, {60, 480, latency.Clamped}} {
		if got, from, ok := table.At([]float64{c.at}); !ok || got != c.want || from != c.from {
			t.Errorf("at %v: %v, %v, want %v, %v", c.at, got, from, c.want, c.from)
		}
	}
	table.Light = nil
	if got, from, _ := table.At([]float64{30}); got != 160 || from != latency.Clamped {
		t.Errorf("without a speed of light: %v, %v", got, from)
	}
	if _, _, ok := NewTable(Exactly).At([]float64{1}); ok {
		t.Error("an empty table has an answer")
	}
}

// Along the length of a prompt √time is linear: squares stay squares.
func TestSquaresAreInterpolatedAsSquares(t *testing.T) {
	table := NewTable(Quadratic)
	table.Add([]float64{100}, 100*100)
	table.Add([]float64{300}, 300*300)
	if got, _, _ := table.At([]float64{200}); math.Abs(got-200*200) > 1e-6 {
		t.Errorf("%v", got)
	}
}

// A table answers for its own rows with their times, however ragged it is, and between
// two values of an axis with something between.
func TestTablesReproduceTheirRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(Quadratic, Linear, Exactly)
		least := map[[3]float64]float64{}
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			var p [3]float64
			for i := range p {
				p[i] = float64(rapid.IntRange(0, 4).Draw(t, "coordinate"))
			}
			time := rapid.Float64Range(1, 1000).Draw(t, "time")
			table.Add(p[:], time)
			if old, ok := least[p]; !ok || time < old {
				least[p] = time
			}
		}
		if table.Len() != len(least) {
			t.Fatalf("%d points, want %d", table.Len(), len(least))
		}
		for p, want := range least {
			if got, from, ok := table.At(p[:]); !ok || got != want || from != latency.Exact {
				t.Fatalf("%v: %v, %v, want %v", p, got, from, want)
			}
		}
	})
}

// Shapes borrow the efficiency of those near them, not of those more than two octaves
// away.
func TestShapesBorrowEfficienciesFromTheirNeighbours(t *testing.T) {
	light := func(m, n, k float64) float64 { return m * n * k }
	s := NewSites(light)
	for _, n := range []float64{1024, 2048, 4096} {
		s.Add(16, n, 1024, 2*light(16, n, 1024)) // at half the speed of light
	}
	if got, from, ok := s.At(16, 3000, 1024); !ok || math.Abs(got/light(16, 3000, 1024)-2) > 1e-12 || from != latency.Interpolated {
		t.Errorf("%v, %v, %v", got, from, ok)
	}
	if got, from, ok := s.At(16, 2048, 1024); !ok || got != 2*light(16, 2048, 1024) || from != latency.Exact {
		t.Errorf("%v, %v", got, from)
	}
	if _, _, ok := s.At(16, 1<<20, 1024); ok {
		t.Error("a shape far from all others has an answer")
	}
	seen := 0
	s.LeaveOut(func(measured, predicted float64) {
		seen++
		if math.Abs(predicted/measured-1) > 1e-12 {
			t.Errorf("%v, measured %v", predicted, measured)
		}
	})
	if seen != 3 {
		t.Errorf("%d points were left out", seen)
	}
}

const passes = `decode_seqs,new_tokens,kv_read,time_ms
1,0,100,5
1,0,1100,6
9,0,900,7
9,0,9900,9
0,100,0,10
0,200,0,20
0,200,1000,22
`

func readPasses(t testing.TB, o PassOptions) *Passes {
	t.Helper()
	p, err := ReadPasses("passes.csv", strings.NewReader(passes), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Measured passes come back as they are; a mixed pass is its tokens as a prompt and what
// the decodes read.
func TestMeasuredPassesComeBack(t *testing.T) {
	p := readPasses(t, PassOptions{})
	for _, c := range []struct {
		pass latency.Pass
		want latency.Duration
	}{
		{latency.Pass{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 1100}, latency.Duration{DecodeMs: 6}},
		{latency.Pass{DecodeSeqs: 9, DecodeNew: 9, DecodeContext: 900}, latency.Duration{DecodeMs: 7}},
		{latency.Pass{PrefillSeqs: 1, PrefillNew: 200, PrefillBefore: 1000}, latency.Duration{PrefillMs: 22}},
		{latency.Pass{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 600}, latency.Duration{DecodeMs: 5.5}},
		{latency.Pass{PrefillSeqs: 1, PrefillNew: 191, DecodeSeqs: 9, DecodeNew: 9, DecodeContext: 9900}, latency.Duration{PrefillMs: 20 + (9 - 7)}},
		{latency.Pass{}, latency.Duration{}},
	} {
		if got, err := p.Cost(&c.pass); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.pass, got, err, c.want)
		}
	}
	far := latency.Pass{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 1 << 20}
	if _, err := readPasses(t, PassOptions{Strict: true}).Cost(&far); err == nil {
		t.Error("a pass outside of the table was priced")
	}
	other := latency.Fixed{DecodeMs: 77}
	if d, err := readPasses(t, PassOptions{Else: other}).Cost(&far); err != nil || d.DecodeMs != 77 {
		t.Errorf("outside of the table: %+v, %v", d, err)
	}
}

func TestPassesThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"decode_seqs,new_tokens,kv_read,time_ms\n1,5,0,3\n": "p.csv:2: new_tokens: 5: want decodes or new tokens of prompts, one of them 0",
		"decode_seqs,new_tokens,kv_read,time_ms\n1,0,5,0\n": "p.csv:2: time_ms: 0: want a time above 0",
		"decode_seqs,new_tokens,kv_read,time_ms\n1,0,5,1\n": "p.csv: 1 passes of decodes, 0 of prompts: want both",
	} {
		if _, err := ReadPasses("p.csv", strings.NewReader(text), PassOptions{}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// deployment is a small model on a GPU.
func deployment(t testing.TB) (*work.Deployment, *hardware.GPU) {
	t.Helper()
	m, err := arch.Find("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	d, err := work.New(work.Deployment{Model: m, Layout: work.Sole(), Weights: m.Weights, Cache: precision.BF16})
	if err != nil {
		t.Fatal(err)
	}
	g, err := hardware.Find("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return d, &g
}

// Rows that are faster than the GPU can be are counted and not used.
func TestRowsFasterThanLightAreDropped(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("dense.csv", "layer,tokens,time_us\nqkv_proj,1,40\nqkv_proj,2,0.001\n")
	write("attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,100,9\n0,0,64,8000,0.5\n")
	d, g := deployment(t)
	p, err := ReadOperators(dir, d, g)
	if err != nil || p.Rows != 4 || p.Rejected != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	s := work.Sums{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 101}
	if ms, from, ok := p.Attention(&s); !ok || ms != 0.009 || from != latency.Exact {
		t.Errorf("%v, %v, %v", ms, from, ok)
	}
	write("other.csv", "a,b\n1,2\n")
	if _, err := ReadOperators(dir, d, g); err == nil || !strings.Contains(err.Error(), "other.csv: columns a,b: want one of the kinds") {
		t.Error(err)
	}
	if _, err := ReadOperators(t.TempDir(), d, g); err == nil || !strings.Contains(err.Error(), "no .csv files") {
		t.Error(err)
	}
}

func FuzzReadPasses(f *testing.F) {
	f.Add([]byte(passes))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPasses("p.csv", bytes.NewReader(text), PassOptions{})
		if err != nil {
			return
		}
		d, err := p.Cost(&latency.Pass{DecodeSeqs: 3, DecodeNew: 3, DecodeContext: 400})
		if err != nil || !(d.DecodeMs >= 0) {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// Tables of operators are read or refused, of whatever kind.
func FuzzReadOperators(f *testing.F) {
	for _, k := range kinds {
		f.Add([]byte(strings.Join(k.columns, ",") + "\n" + strings.TrimSuffix(strings.Repeat("1,", len(k.columns)), ",") + "\n"))
	}
	d, g := deployment(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &Operators{d: d, gpu: g, layers: map[string]*Table{}, products: map[string]*Sites{}}
		if p.read("o.csv", bytes.NewReader(text)) != nil {
			return
		}
		s := work.Sums{DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 101}
		if ms, _, ok := p.Attention(&s); ok && !(ms >= 0) {
			t.Errorf("%v ms", ms)
		}
	})
}

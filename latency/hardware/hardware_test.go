package hardware

import (
	"math"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/latency/precision"
)

// spec/latency.md 2.1 and 1.15, of GPUs that are often named.
func TestGPUsAreThoseOfTheTable(t *testing.T) {
	for _, c := range []struct {
		name                              string
		bf16, fp8, fp4, bandwidth, memory float64
	}{
		{"a100-sxm-80", 312, 0, 0, 2039, 85.1e9}, {"h100_sxm", 989, 1978, 0, 3350, 85.0e9}, {"H200-SXM", 989, 1978, 0, 4800, 150.1e9},
		{"b200-sxm", 2250, 4500, 9000, 7700, 191.5e9}, {"rtx-4090", 165, 330, 0, 1008, 25.25e9}, {"mi300x", 1307.4, 2614.9, 0, 5300, 206e9},
	} {
		g, err := Find(c.name)
		if err != nil {
			t.Error(err)
			continue
		}
		got := [...]float64{g.BF16 / 1e12, g.FP8 / 1e12, g.FP4 / 1e12, g.Bandwidth / 1e9, g.Memory / 1e9}
		want := [...]float64{c.bf16, c.fp8, c.fp4, c.bandwidth, c.memory / 1e9}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 2e-3*want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, want)
				break
			}
		}
	}
}

// Dense peaks: a narrower format is twice as fast as the next wider one, or there is no
// unit for it; figures of sparse products would be four times.
func TestPeaksAreDense(t *testing.T) {
	for _, g := range All() {
		if g.Source == "" || g.Generation == "" {
			t.Errorf("%s: source %q, generation %q", g.Name, g.Source, g.Generation)
		}
		if r := g.FP8 / g.BF16; g.FP8 > 0 && (r < 0.99 || r > 2.1) {
			t.Errorf("%s: fp8 is %v times bf16", g.Name, r)
		}
		if r := g.FP4 / max(g.FP8, g.BF16); g.FP4 > 0 && (r < 0.99 || r > 4.1) {
			t.Errorf("%s: fp4 is %v times fp8", g.Name, r)
		}
	}
}

// Formats without a unit of their own are widened.
func TestFormatsWithoutAUnitRunAtTheSpeedOfBF16(t *testing.T) {
	a100, _ := Find("a100-sxm-80")
	b200, _ := Find("b200-sxm")
	if a100.Peak(precision.FP8Unit) != a100.BF16 || a100.Multiplies(precision.FP8) || !b200.Multiplies(precision.NVFP4) || b200.Peak(precision.FP4Unit) != b200.FP4 {
		t.Error("peaks of an A100 and a B200")
	}
	if b200.Between(8) != b200.Link || b200.Between(16) != b200.RDMA {
		t.Error("links of a B200")
	}
}

func TestGPUsThatAreNoneAreRefused(t *testing.T) {
	head := "name,aliases,generation,bf16_tflops,hbm_gbps,memory_gib,memory_bytes,domain,source\n"
	for _, c := range []struct{ text, want string }{
		{head + "x,,hopper,many,1,1,1,8,s\n", `g.csv:2: bf16_tflops: "many": want a finite number`},
		{head + "x,,hopper,100,0,80,8e10,8,s\n", "g.csv: GPU x: bf16_tflops 100, hbm_gbps 0"},
		{head + ",,hopper,100,1000,80,8e10,8,s\n", "g.csv: GPU : name: empty"},
		{head + "x,,hopper,100,1000,80,8e10,0,s\n", "g.csv: GPU x: domain 0: want at least 1"},
		{"name\nx\n", "g.csv:2: aliases: no such column"},
	} {
		if _, err := ReadCSV("g.csv", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := Find("h900"); err == nil || !strings.Contains(err.Error(), `GPU "h900": want one of a100-sxm-80`) {
		t.Error(err)
	}
}

// GPUs are read or refused; what is read can compute.
func FuzzReadGPUs(f *testing.F) {
	f.Add(builtIn)
	f.Fuzz(func(t *testing.T, text []byte) {
		gpus, err := ReadCSV("g.csv", text)
		if err != nil {
			return
		}
		for i := range gpus {
			if g := &gpus[i]; !(g.Peak(precision.FP4Unit) > 0) || !(g.Bandwidth > 0) {
				t.Errorf("%+v", g)
			}
		}
	})
}

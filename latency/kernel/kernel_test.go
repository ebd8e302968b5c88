package kernel

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

func gpu(t testing.TB, name string) *hardware.GPU {
	t.Helper()
	g, err := hardware.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return &g
}

// Every row has a source, and no fraction of a peak is above 1: nothing beats the speed of
// light. What is moved aside may come from a cache and be faster than the memory.
func TestConstantsHaveSourcesAndKeepTheSpeedOfLight(t *testing.T) {
	for _, r := range BuiltIn().laws {
		if r.law.Source == "" || r.law.Compute > 1 || r.law.Memory > 1 || r.law.LaunchMs < 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range BuiltIn().messages {
		if r.law.Source == "" || !(r.law.Efficiency > 0) || r.law.Efficiency > 1 || r.ranks < 2 {
			t.Errorf("%+v", r)
		}
	}
}

// Two limits that are equal take √2 times either; one that is far smaller hardly counts.
func TestTheLawHasNoKink(t *testing.T) {
	g := gpu(t, "h100-sxm")
	l := Law{Compute: 1, Memory: 1}
	at := func(flops, bytes float64) float64 {
		terms := l.Terms(&work.Op{Class: work.GEMM, Format: precision.BF16, FLOPs: flops, Weights: bytes}, g)
		return terms.Ms()
	}
	if got := at(g.BF16/1e3, g.Bandwidth/1e3); math.Abs(got-math.Sqrt2) > 1e-12 {
		t.Errorf("1 ms of each takes %v ms", got)
	}
	if got := at(g.BF16/1e3, g.Bandwidth/1e5); got < 1 || got > 1.0001 {
		t.Errorf("1 ms of arithmetic takes %v ms", got)
	}
}

// Every class, format and GPU has a law, its own or one that is borrowed and says so;
// no law answers below the speed of light.
func TestEveryOperatorHasALawAboveTheSpeedOfLight(t *testing.T) {
	gpus := hardware.All()
	rapid.Check(t, func(t *rapid.T) {
		g := &gpus[rapid.IntRange(0, len(gpus)-1).Draw(t, "gpu")]
		f, err := precision.Find(rapid.SampledFrom(precision.Names()).Draw(t, "format"))
		if err != nil {
			t.Fatal(err)
		}
		o := work.GEMMOp(f, rapid.Float64Range(1, 1e5).Draw(t, "m"), rapid.Float64Range(1, 1e5).Draw(t, "n"), rapid.Float64Range(1, 1e5).Draw(t, "k"))
		for c := range work.Classes {
			o.Class = c
			if c.Communicates() {
				continue
			}
			l, err := BuiltIn().Law(c, g, f, "")
			if err != nil {
				t.Fatal(err)
			}
			terms := l.Terms(&o, g)
			compute, memory := Limits(&o, g)
			if l.Compute == 0 {
				compute = 0
			}
			if l.Memory == 0 {
				memory = 0
			}
			if ms := terms.Ms(); !(ms >= max(compute, memory)*(1-1e-12)) {
				t.Fatalf("%s in %s on %s: %v ms, at full speed %v and %v", c, f.Name, g.Name, ms, compute, memory)
			}
		}
	})
}

// What was measured on the GPU is its own; the same asked of another is borrowed.
func TestBorrowedLawsSaySo(t *testing.T) {
	for name, borrowed := range map[string]bool{"h100-sxm": false, "b300-sxm": true, "mi210": true} {
		g, err := hardware.Find(name)
		if err != nil {
			t.Skipf("%s: %v", name, err)
		}
		l, err := BuiltIn().Law(work.GEMM, &g, precision.BF16, "")
		if err != nil || l.Borrowed != borrowed {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// Bytes that leave a GPU (spec/latency.md 1.11).
func TestWireBytesAreThoseOfTheTable(t *testing.T) {
	for _, c := range []struct {
		class work.Class
		ranks int
		want  float64
	}{{work.AllReduce, 4, 150}, {work.AllReduce, 2, 100}, {work.AllGather, 4, 75}, {work.ReduceScatter, 8, 87.5}, {work.Send, 2, 100}} {
		if got := Wire(&work.Op{Class: c.class, Ranks: c.ranks, Message: 100}); got != c.want {
			t.Errorf("%s over %d: %v, want %v", c.class, c.ranks, got, c.want)
		}
	}
}

// More GPUs than were measured take longer to begin.
func TestMessagesBeyondWhatWasMeasuredStartLater(t *testing.T) {
	g := gpu(t, "h100-sxm")
	last := 0.0
	for _, n := range []int{2, 4, 8, 16, 32} {
		m, err := BuiltIn().Message(work.AllReduce, g, n, false)
		if err != nil || m.LaunchMs < last || m.Borrowed != (n > 8) {
			t.Errorf("%d GPUs: %+v, %v", n, m, err)
		}
		last = m.LaunchMs
	}
}

// Constants of a user come before the built-in ones.
func TestConstantsOfAFileComeFirst(t *testing.T) {
	text := "class,gpu,format,family,launch_us,compute,memory,side,source\ngemm,h100-sxm,bf16,,1,0.5,0.25,0,mine\n"
	own, err := BuiltIn().Over("own.csv", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := own.Law(work.GEMM, gpu(t, "h100-sxm"), precision.BF16, ""); err != nil || l.Source != "mine" || l.Memory != 0.25 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := BuiltIn().Over("own.csv", []byte(strings.Replace(text, "0.25", "1.25", 1))); err == nil || !strings.Contains(err.Error(), "own.csv:2: memory: 1.25: want a fraction") {
		t.Error(err)
	}
}

func FuzzReadConstants(f *testing.F) {
	f.Add(efficiency)
	f.Add(messages)
	f.Fuzz(func(t *testing.T, text []byte) {
		if laws, err := readLaws("f.csv", text); err == nil {
			for _, r := range laws {
				if r.law.Compute > 1 || r.law.Memory > 1 {
					t.Errorf("%+v", r)
				}
			}
		}
		if rows, err := readMessages("f.csv", text); err == nil {
			for _, r := range rows {
				if r.law.Efficiency > 1 {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

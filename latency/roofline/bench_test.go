package roofline

import (
	"testing"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/work"
)

// Passes of a busy server one by one: decodes, every fourth pass with a chunk of a
// prompt.
func BenchmarkPasses(b *testing.B) {
	for _, c := range []struct {
		name string
		s    Setup
	}{
		{"dense", setup(b, "llama-3.1-70b", "h100-sxm", "fp8", "vllm", work.Tensor(4))},
		{"experts", setup(b, "deepseek-v3", "h200-sxm", "", "sglang", work.Tensor(8))},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := price(b, c.s)
			b.ReportAllocs()
			i := int64(0)
			for b.Loop() {
				i++
				n := 1 + i%256
				p := latency.Pass{DecodeSeqs: n, DecodeNew: n, DecodeContext: n * (500 + i%1000), Sampled: n}
				if i%4 == 0 {
					p.AddPrefill(512+i%1024, 0)
				}
				if _, err := m.Cost(&p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A stretch of decodes.
func BenchmarkDecodes(b *testing.B) {
	m := price(b, setup(b, "llama-3.1-70b", "h100-sxm", "fp8", "vllm", work.Tensor(4)))
	p, dst := decodes(64, 700), make([]float64, 256)
	for b.Loop() {
		if err := m.Decodes(p, dst); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/pass")
}

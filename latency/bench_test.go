package latency

import "testing"

// A stretch of the default configuration: 64 decodes in a pool of 2^20 tokens; the
// same in a pool that is not a power of two, and with a speed-up.
func BenchmarkDecodes(b *testing.B) {
	for _, c := range []struct {
		name    string
		pool    int64
		speedup float64
	}{{"pool=2^20", 1 << 20, 1}, {"pool=10^6", 1_000_000, 1}, {"speedup=3", 1 << 20, 3}} {
		b.Run(c.name, func(b *testing.B) {
			s := Defaults()
			s.Speedup = c.speedup
			m := mustNew(b, s)
			dst := make([]float64, 256)
			p := Pass{DecodeSeqs: 64, DecodeNew: 64, DecodeContext: 64 * 700, PoolTokens: c.pool}
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Decodes(&p, dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/pass")
		})
	}
}

func BenchmarkCost(b *testing.B) {
	m := mustNew(b, Defaults())
	p := Pass{PrefillSeqs: 2, PrefillNew: 900, PrefillBefore: 512, DecodeSeqs: 64, DecodeNew: 64, DecodeContext: 64 * 700, PoolTokens: 1 << 20}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Cost(&p); err != nil {
			b.Fatal(err)
		}
	}
}

func mustNew(t testing.TB, s Settings) Model {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

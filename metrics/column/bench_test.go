package column

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkGapSelection keeps the gaps of a run of 2.8 million passes (the full
// conversation trace), in stretches of equal batch size, and asks for ten
// percentiles.
func BenchmarkGapSelection(b *testing.B) {
	const passes, stretch = 2_800_000, 50
	random := rand.New(rand.NewPCG(1, 2))
	gaps := make([]float64, passes)
	now := 0.0
	for i := range gaps {
		before := now
		now += 6 + 20*random.Float64()*random.Float64()
		gaps[i] = now - before
	}
	b.ReportAllocs()
	for b.Loop() {
		spill := NewSpill(b.TempDir())
		c := New(spill)
		for from, weight := 0, int64(1); from < passes; from, weight = from+stretch, weight%60+1 {
			if err := c.AddEqual(gaps[from:from+stretch], weight); err != nil {
				b.Fatal(err)
			}
		}
		ranks := make([]int64, 10)
		for i := range ranks {
			ranks[i] = c.Len() * int64(i+1) / 11
		}
		if _, err := AtRanks(ranks, c); err != nil {
			b.Fatal(err)
		}
		if err := spill.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkColumnPercentiles keeps a million samples and asks for five
// percentiles.
func BenchmarkColumnPercentiles(b *testing.B) {
	const n = 1_000_000
	random := rand.New(rand.NewPCG(1, 2))
	samples := make([]float64, n)
	for i := range samples {
		samples[i] = 1000 * random.ExpFloat64()
	}
	b.ReportAllocs()
	for b.Loop() {
		spill := NewSpill(b.TempDir())
		c := New(spill)
		for _, v := range samples {
			if err := c.Add(v); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := AtRanks([]int64{n / 2, n * 3 / 4, n * 9 / 10, n * 19 / 20, n * 99 / 100}, c); err != nil {
			b.Fatal(err)
		}
		if err := spill.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

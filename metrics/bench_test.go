package metrics

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkTally counts a completed request.
func BenchmarkTally(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, 4096)
	for i := range rows {
		r := &rows[i]
		r.reset(Label{}, float64(i), 512, 512)
		r.Bucket, r.Instance = 0, int32(i%64)
		r.Admit(r.ArrivalMs, 0)
		first := r.ArrivalMs + 1000*random.Float64()
		r.EndAt(Completed, "", first+5000, []float64{first, first + 10*random.Float64(), first + 5000*random.Float64()}, new(Gaps), false)
	}
	tally := NewTally(Setup{Buckets: []string{"default"}, TempDir: b.TempDir()})
	defer tally.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := tally.Add(&rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFold folds a chunk of 1024 passes.
func BenchmarkFold(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	ends, continued := make([]float64, logChunkLen), make([]int32, logChunkLen)
	for i := range ends {
		ends[i] = float64(10*i) + random.Float64()
		continued[i] = int32(1 + i/50)
	}
	var g Gaps
	for b.Loop() {
		g.addPasses(0, ends, continued)
		g.values, g.runs = g.values[:0], g.runs[:0]
	}
}

package rundir

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/reprise-sim/reprise/metrics"
)

// BenchmarkPerRequestCSV writes the line of a request with 12 numbers. With -cpu 1
// it shows the whole cost, with more what is left of it while others format.
func BenchmarkPerRequestCSV(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var l metrics.Ledger
	var g metrics.Gaps
	rows := make([]*metrics.Row, 1000)
	for i := range rows {
		at := 1000 * random.Float64()
		r := l.Row(l.Open(metrics.Label{Request: fmt.Sprint("r", i), Task: fmt.Sprint("r", i), Session: fmt.Sprint("r", i), Line: int32(i)}, at, 512, 512))
		r.Bucket, r.Instance, r.Rank, r.SubmitMs = 0, int32(i%64), 0, at
		r.Admit(at+random.Float64(), 128)
		first := at + 1 + 1000*random.Float64()
		r.EndAt(metrics.Completed, "", first+5000, []float64{first, first + 10, first + 5000}, &g, false)
		rows[i] = r
	}
	d, err := Create(b.TempDir(), true)
	if err != nil {
		b.Fatal(err)
	}
	w, err := d.Requests(Routing{Buckets: []string{"default"}, LocalPolicy: "round_robin"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Add(rows[i%len(rows)])
	}
	b.StopTimer()
	if err := d.Abort(); err != nil {
		b.Fatal(err)
	}
}

package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reprise-sim/reprise/metrics/column"
)

// manyRows adds more requests to a tally than a column keeps in memory and
// returns their TTFT.
func manyRows(tally *Tally) (ttft []float64, err error) {
	random := rand.New(rand.NewPCG(3, 4))
	var r Row
	var g Gaps
	for i := range column.PageLen + 5000 {
		r.reset(Label{}, float64(i), 1, 1)
		r.Bucket, r.Instance = 0, 0
		first := r.ArrivalMs + 100*random.ExpFloat64()
		r.EndAt(Completed, "", first, []float64{first}, &g, false)
		ttft = append(ttft, r.TTFTMs())
		if err := tally.Add(&r); err != nil {
			return nil, err
		}
	}
	return ttft, nil
}

func TestPercentilesOfManyRequestsAreExact(t *testing.T) {
	tally := NewTally(Setup{Buckets: []string{"default"}, TempDir: t.TempDir()})
	defer tally.Close()
	ttft, err := manyRows(tally)
	must(t, err)
	s, err := tally.Summary(Run{InTrace: int64(len(ttft)), Uses: []Use{{}}})
	must(t, err)
	sum, squares := 0.0, 0.0
	for _, v := range ttft {
		sum += v
	}
	mean := sum / float64(len(ttft))
	for _, v := range ttft {
		squares += float64((v - mean) * (v - mean))
	}
	slices.Sort(ttft)
	at := func(p float64) float64 { return ttft[column.Rank(int64(len(ttft)), p)] }
	want := Distribution{int64(len(ttft)), mean, ttft[0], ttft[len(ttft)-1], at(50), at(75), at(90), at(95), at(99), math.Sqrt(squares / float64(len(ttft)))}
	if s.Latencies.TTFT != want {
		t.Errorf("%+v\nwant\n%+v", s.Latencies.TTFT, want)
	}
}

func TestLostSamplesEndTheRun(t *testing.T) {
	tally := NewTally(Setup{Buckets: []string{"default"}, TempDir: filepath.Join(t.TempDir(), "missing")})
	defer tally.Close()
	if _, err := manyRows(tally); !errors.Is(err, column.ErrStorage) {
		t.Errorf("while rows come: %v", err)
	}
	if s, err := tally.Summary(Run{}); s != nil || !errors.Is(err, column.ErrStorage) {
		t.Errorf("at the end: %v", err)
	}
}

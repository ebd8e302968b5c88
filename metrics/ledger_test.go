package metrics

import (
	"math/rand/v2"
	"testing"
)

func TestRowsComeOutInOrderAndAreForgotten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l Ledger
	var open []int32
	out, most := int32(0), 0
	for range 20_000 {
		if len(open) == 0 || len(open) < 600 && random.IntN(2) == 0 {
			n := l.Open(Label{}, float64(l.Len()), 1, 1)
			open = append(open, n)
			continue
		}
		i := random.IntN(min(len(open), 300))
		l.Row(open[i]).EndAt(Cancelled, ClientCancelled, 0, nil, nil, false)
		open = append(open[:i], open[i+1:]...)
		l.HandOut(func(n int32, r *Row) {
			if n != out || r.ArrivalMs != float64(n) {
				t.Fatalf("row %d arrived at %v came out instead of %d", n, r.ArrivalMs, out)
			}
			out++
		})
		most = max(most, len(l.chunks)+len(l.spare))
	}
	if len(open) > 0 && out > open[0] {
		t.Errorf("row %d came out though it is open", open[0])
	}
	if live := l.Len() - int(out); live > 4000 || most > 20 {
		t.Errorf("%d rows live, %d chunks held", live, most)
	}
	seen := 0
	l.OpenRows(func(n int32, r *Row) {
		if n != open[seen] {
			t.Errorf("open row %d, want %d", n, open[seen])
		}
		seen++
	})
	if seen != len(open) {
		t.Errorf("%d open rows, want %d", seen, len(open))
	}
}

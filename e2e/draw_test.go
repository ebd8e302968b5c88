//go:build e2e

package e2e

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// drawn is a seeded source of calls: the same seed gives the same call.
type drawn struct{ *rand.Rand }

func seeded(seed uint64) drawn { return drawn{rand.New(rand.NewPCG(seed, 0))} }

// ids draws n ordinary token ids.
func (d drawn) ids(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = 4 + d.IntN(vocabulary-4)
	}
	return ids
}

// output draws n output ids with an EOS in the middle of every five.
func (d drawn) output(n int) []int {
	ids := d.ids(n)
	for i := 2; i < n; i += 5 {
		ids[i] = eos
	}
	return ids
}

// routes draws distinct experts for every position and layer; a share of the rows
// is native (-1).
func (d drawn) routes(positions, layers, topK, experts int, native float64) *npy {
	a := &npy{shape: [3]int{positions, layers, topK}}
	for range positions * layers {
		row := d.Perm(experts)[:topK]
		if d.Float64() < native {
			for i := range row {
				row[i] = -1
			}
		}
		a.ids = append(a.ids, row...)
	}
	return a
}

// each runs f for 0..n-1 with at most inFlight at once.
func each(t *testing.T, n, inFlight int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := f(i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

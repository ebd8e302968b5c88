package routing_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/routing"
)

// The best does not depend on the order in which targets are offered: it is the first
// by score, load and id.
func TestTheBestIsTheBestInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, r := drawView(t)
		var ids []int
		scores := map[int]float64{}
		for i := range v.Loads {
			ids = append(ids, i)
			scores[i] = float64(rapid.IntRange(0, 2).Draw(t, "score"))
		}
		best := routing.NewBest(v, 0.1)
		for _, i := range rapid.Permutation(ids).Draw(t, "order") {
			best.Offer(i, scores[i])
		}
		want := 0
		for i := range v.Loads {
			load, least := routing.Load(v.Loads[i], 0.1), routing.Load(v.Loads[want], 0.1)
			if scores[i] < scores[want] || scores[i] == scores[want] && load < least {
				want = i
			}
		}
		if c, err := best.Choice(&r, "best"); err != nil || int(c.Target) != want {
			t.Fatalf("%v (%v), want %d", c, err, want)
		}
	})
}

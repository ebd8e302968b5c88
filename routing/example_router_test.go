package routing_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
)

// MostFree sends to the instance with the most free KV blocks; ties go to the
// smaller load, then the smaller id.
type MostFree struct{ LoadAlpha float64 }

// RouteInstance implements [routing.LocalRouter].
func (p MostFree) RouteInstance(r *routing.Request, v routing.View, _ float64) (routing.Choice, error) {
	best := routing.NewBest(v, p.LoadAlpha)
	for i := range routing.Candidates(v) {
		l := v.Load(i)
		score := float64(l.BlocksUsed - l.BlocksTotal)
		r.Decision.Score(i, score)
		best.Offer(i, score)
	}
	return best.Choice(r, "most_free_blocks")
}

// mostFree is what registers it: routing.Register(mostFree) in an init function
// makes it a value of cluster.router.mode.
var mostFree = routing.LocalPolicy{
	Mode: "most_free",
	Doc:  "the instance with the most free KV blocks",
	Keys: []string{"load_alpha"},
	New: func(s routing.Settings, _ *arrival.Rand) routing.Placement {
		return routing.Immediate(MostFree{s.LoadAlpha}, routing.Views)
	},
}

func Example_router() {
	view := &routingtest.View{
		Loads: []engine.Load{
			{Running: 1, BlocksUsed: 70, BlocksTotal: 100},
			{Running: 9, BlocksUsed: 40, BlocksTotal: 100},
			{BlocksTotal: 100},
		},
		Away: []int{2}, // drains
	}
	request := &routing.Request{InputTokens: 1000, Rank: -1}
	router := mostFree.New(routing.Defaults(), nil)
	choice, _, err := router.Place(request, view, 0)
	fmt.Println(choice.Target, choice.Reason, err)
	// Output: 1 most_free_blocks <nil>
}

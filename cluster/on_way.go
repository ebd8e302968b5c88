package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// onWay are requests that have been routed and have not arrived at their instance,
// in order of (due, row): probing or the front end took time.
type onWay []underway

type underway struct {
	dueMs   float64
	target  int32
	request engine.Request
}

func (o *onWay) push(u underway) {
	at, _ := slices.BinarySearchFunc(*o, u, func(a, b underway) int {
		return cmp.Or(cmp.Compare(a.dueMs, b.dueMs), cmp.Compare(a.request.Row, b.request.Row))
	})
	*o = slices.Insert(*o, at, u)
}

func (o *onWay) pop() underway {
	u := (*o)[0]
	*o = slices.Delete(*o, 0, 1)
	return u
}

// nextMs is when the next one arrives.
func (o onWay) nextMs() float64 {
	if len(o) == 0 {
		return math.Inf(1)
	}
	return o[0].dueMs
}

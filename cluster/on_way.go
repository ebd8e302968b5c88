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

func (o *onWay) pop() underway { return o.take(0) }

// remove takes out the request of a row and says where it was going.
func (o *onWay) remove(row int32) (target int32, ok bool) {
	i := slices.IndexFunc(*o, func(u underway) bool { return u.request.Row == row })
	if i < 0 {
		return 0, false
	}
	return o.take(i).target, true
}

func (o *onWay) take(i int) underway {
	u := (*o)[i]
	*o = slices.Delete(*o, i, i+1)
	return u
}

// nextMs is when the next one arrives.
func (o onWay) nextMs() float64 {
	if len(o) == 0 {
		return math.Inf(1)
	}
	return o[0].dueMs
}

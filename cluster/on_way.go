package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// onWay are requests that have been routed and have not arrived at their instance:
// probing took time.
type onWay struct {
	list     []underway // in order of (due, row)
	requests []int      // by target
	tokens   []int      // input tokens, by target
}

type underway struct {
	dueMs   float64
	target  int32
	request engine.Request
}

func newOnWay(targets int) onWay {
	return onWay{requests: make([]int, targets), tokens: make([]int, targets)}
}

func (o *onWay) push(u underway) {
	at, _ := slices.BinarySearchFunc(o.list, u, func(a, b underway) int {
		return cmp.Or(cmp.Compare(a.dueMs, b.dueMs), cmp.Compare(a.request.Row, b.request.Row))
	})
	o.list = slices.Insert(o.list, at, u)
	o.requests[u.target]++
	o.tokens[u.target] += int(u.request.InputTokens)
}

func (o *onWay) pop() underway {
	u := o.list[0]
	o.list = slices.Delete(o.list, 0, 1)
	o.requests[u.target]--
	o.tokens[u.target] -= int(u.request.InputTokens)
	return u
}

// nextMs is when the next one arrives.
func (o *onWay) nextMs() float64 {
	if len(o.list) == 0 {
		return math.Inf(1)
	}
	return o.list[0].dueMs
}

// add adds those on their way to a target to its load: they wait.
func (o *onWay) add(l engine.Load, target int) engine.Load {
	l.Waiting += o.requests[target]
	l.PrefillTokens += o.tokens[target]
	return l
}

package routing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/arrival"
)

func init() {
	Register(LocalPolicy{
		Mode: "round_robin",
		Doc:  "the next instance in turn, and the next rank in it",
		New:  func(Settings, *arrival.Rand) Placement { return Immediate(NewRoundRobin(), 0) },
	})
}

// RoundRobin takes the workers in turn, by ascending id, and in each worker its
// ranks in turn (spec/replay.md 5.2). It looks at nothing.
//
// The cursor is the position after the worker just used, not a count of requests:
// when workers come or go, it goes on from there. A failed decision moves nothing.
type RoundRobin struct {
	workers []worker
	cursor  int
	drained map[int32]int // rank cursors of draining workers
}

type worker struct {
	id      int32
	targets []int32
	rank    int // rank cursor
}

// NewRoundRobin is a round robin over no workers.
func NewRoundRobin() *RoundRobin { return &RoundRobin{drained: map[int32]int{}} }

// RouteInstance implements [LocalRouter].
func (rr *RoundRobin) RouteInstance(r *Request, _ View, _ float64) (Choice, error) {
	if len(rr.workers) == 0 {
		return Choice{}, nowhere(r)
	}
	at := rr.cursor % len(rr.workers)
	w := &rr.workers[at]
	rank := w.rank % len(w.targets)
	if r.Rank >= 0 {
		if rank = int(r.Rank); rank >= len(w.targets) {
			return Choice{}, fmt.Errorf("request %d: asks for rank %d of %d", r.Row, rank, len(w.targets))
		}
	} else {
		w.rank = rank + 1
	}
	rr.cursor = at + 1
	return Choice{Row: r.Row, Target: w.targets[rank], Reason: "next_in_turn"}, nil
}

// Worker implements [Follower].
func (rr *RoundRobin) Worker(c Change) {
	at, found := slices.BinarySearchFunc(rr.workers, c.Worker, func(w worker, id int32) int { return cmp.Compare(w.id, id) })
	switch {
	case c.State == Ready && !found:
		rr.workers = slices.Insert(rr.workers, at, worker{c.Worker, slices.Clone(c.Targets), rr.drained[c.Worker]})
		delete(rr.drained, c.Worker)
	case c.State != Ready && found:
		rr.drained[c.Worker] = rr.workers[at].rank
		rr.workers = slices.Delete(rr.workers, at, at+1)
	}
	if c.State == Removed {
		delete(rr.drained, c.Worker)
	}
}

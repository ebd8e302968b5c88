package paged

import "github.com/reprise-sim/reprise/engine"

var _ engine.Progressive = (*Rank)(nil)

// OpenRuns implements [engine.Progressive].
func (r *Rank) OpenRuns(visit func(row int32, from int, n int32)) {
	for s := r.running.head; s != none; s = r.requests[s].next {
		q := &r.requests[s]
		if n := q.outputsAt(r.pass) - q.runBase; n > 0 {
			visit(q.row, q.runFrom, n)
		}
	}
}

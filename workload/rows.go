package workload

import (
	"fmt"

	"github.com/reprise-sim/reprise/trace"
)

// rows knows the calls in flight by their number. Numbers count up from 0 and
// calls end in about the order in which they started, so they are kept in a ring
// over [first, next): as long as the oldest call in flight is old.
type rows struct {
	ring        []flight // a power of two long, row r at r & (len-1)
	first, next int32
}

// flight is a call that has been released and has not ended.
type flight struct {
	play *play // nil if nobody waits for its end
	node int32
	open bool
}

// isTool is whether it is a tool that the loop runs: somebody always waits for its
// end.
func (f *flight) isTool() bool {
	return f.play != nil && f.play.task.Nodes[f.node].Kind != trace.LLM
}

// add opens the next row.
func (r *rows) add(p *play, node int32) int32 {
	if int(r.next-r.first) == len(r.ring) {
		r.grow()
	}
	row := r.next
	r.next++
	*r.at(row) = flight{play: p, node: node, open: true}
	return row
}

// get is the call of a row in flight. Any other row is a mistake of the caller.
func (r *rows) get(row int32) *flight {
	if row < r.first || row >= r.next || !r.at(row).open {
		panic(fmt.Sprintf("workload: row %d is not in flight", row))
	}
	return r.at(row)
}

// remove closes a row in flight.
func (r *rows) remove(row int32) {
	*r.get(row) = flight{}
	for r.first < r.next && !r.at(r.first).open {
		r.first++
	}
}

func (r *rows) at(row int32) *flight { return &r.ring[int(row)&(len(r.ring)-1)] }

func (r *rows) grow() {
	old := *r
	r.ring = make([]flight, max(64, 2*len(old.ring)))
	for row := old.first; row < old.next; row++ {
		*r.at(row) = *old.at(row)
	}
}

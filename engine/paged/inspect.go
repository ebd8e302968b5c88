package paged

import (
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// Shares implements [engine.Inspector]. It is meant to be called between Schedule
// and whatever comes next.
func (r *Rank) Shares(dst []engine.Share) []engine.Share {
	p := r.pass - 1
	for s := r.running.head; s != none; s = r.requests[s].next {
		q := &r.requests[s]
		i := slices.IndexFunc(r.step.chunks, func(k chunk) bool { return k.slot == s })
		switch {
		case i >= 0:
			k := r.step.chunks[i]
			dst = append(dst, engine.Share{Row: q.row, New: k.n, Before: k.before, Yields: q.lastToken == p && q.state != partial})
		case q.state == decoding && q.join <= p, q.state == leaving && q.lastToken == p:
			dst = append(dst, engine.Share{Row: q.row, New: 1, Before: q.computedAt(p+1) - 1, Yields: true})
		}
	}
	return dst
}

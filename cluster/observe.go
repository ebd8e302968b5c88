package cluster

import (
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// PassObserver is told the passes of an instance in the order in which they are
// decided.
type PassObserver interface {
	// Passes tells passes that follow one another without a gap: the first one with its
	// begin, and the end of each. Those behind the first decode the same requests
	// ([latency.Pass.Advance]). Neither may be kept.
	Passes(in *Instance, first *latency.Pass, startMs float64, ends []float64)
}

// observe tells passes that begin at startMs.
func (in *Instance) observe(first *latency.Pass, startMs float64, ends []float64) {
	if in.passes != nil {
		in.passes.Passes(in, first, startMs, ends)
	}
}

// lastEnd is the end of the last decided pass, as a list that is not kept.
func (in *Instance) lastEnd() []float64 {
	in.oneEnd[0] = in.endMs
	return in.oneEnd[:]
}

// Shares lists the last decided pass request by request, for a [PassObserver] that
// is told one pass; nil if the engine cannot.
func (in *Instance) Shares(dst []engine.Share) []engine.Share {
	if i, ok := in.rank.(engine.Inspector); ok {
		return i.Shares(dst)
	}
	return dst
}

// Decision is what stood behind the last decided pass.
type Decision struct {
	AtMs      float64
	Load      engine.Load // after it
	Preempted int         // requests that lost their blocks to it
}

// Decision is for a [PassObserver] that is told one pass; see [Equipment].Singly.
func (in *Instance) Decision() Decision { return Decision{in.nowMs, in.rank.Load(), in.preempted} }

// countPreempted counts the requests that lose their blocks to the pass that is being
// decided.
func (in *Instance) countPreempted() {
	for i := range in.fx.Events {
		if in.fx.Events[i].Kind == engine.Preempted {
			in.preempted++
		}
	}
}

// BlockObserver is told what happens to the blocks of an instance's pool, at the time
// at which it happened. The event must not be kept.
type BlockObserver func(in *Instance, e *engine.BlockEvent, atMs float64)

package cluster

import (
	"fmt"
	"sort"

	"github.com/reprise-sim/reprise/engine"
)

// plan is a stretch of passes that have been priced and not decided.
type plan struct {
	stretch engine.Stretch
	ends    []float64 // of the passes that are left
	buffer  []float64
	stepMs  float64 // duration of the last priced pass, to guess how many are needed
}

// planned is how many passes are priced at once at most.
const planned = 256

func (p *plan) drop()           { p.ends = p.ends[:0] }
func (p *plan) lastMs() float64 { return p.ends[len(p.ends)-1] }

// behindPlanMs is when the first pass behind the plan is decided.
func (in *Instance) behindPlanMs() float64 {
	if n := len(in.plan.ends) - in.depth; n >= 0 {
		return in.plan.ends[n]
	}
	return in.log.End(in.decided + len(in.plan.ends) - in.depth)
}

// forgetPlan drops the plan unless what arrives now cannot change it.
func (in *Instance) forgetPlan() {
	if len(in.plan.ends) > 0 && !in.rank.Quiet() {
		in.plan.drop()
	}
}

// preview makes sure that there is a plan. It is false if the next pass has to be
// decided by the rank.
func (in *Instance) preview() bool {
	return len(in.plan.ends) > 0 || in.draft(planned)
}

// draft prices at most limit passes of the stretch that comes next.
func (in *Instance) draft(limit int) bool {
	p := &in.plan
	if in.err != nil || in.singly || !in.rank.Stretch(limit, &p.stretch) {
		return false
	}
	if p.buffer == nil {
		p.buffer = make([]float64, planned)
	}
	p.ends = p.buffer[:p.stretch.Passes]
	if err := in.model.Decodes(&p.stretch.First, p.ends); err != nil {
		in.err = fmt.Errorf("bucket %d, instance %d at %v ms: %w", in.bucket, in.id, in.nowMs, err)
		p.drop()
		return false
	}
	t := max(in.nowMs, in.endMs)
	for i, d := range p.ends {
		t += d
		t += in.hostMs
		p.ends[i] = t
	}
	p.stepMs = p.ends[0] - max(in.nowMs, in.endMs)
	return true
}

// commit decides planned passes: the next one, whose time has come, and those
// behind it that are decided before untilMs and before the next arrival that could
// change them. It is false if the next pass is not part of a stretch.
func (in *Instance) commit(untilMs float64) bool {
	if next := in.inbox.nextMs(); next < untilMs && !in.rank.Quiet() {
		untilMs = next
	}
	p := &in.plan
	if len(p.ends) == 0 && !in.draft(in.guess(untilMs)) {
		return false
	}
	n := in.before(untilMs)
	in.rank.Skip(n)
	in.observe(&p.stretch.First, in.startMs(), p.ends[:n])
	p.stretch.First.Advance(int64(n))
	in.log.Extend(p.ends[:n], int32(p.stretch.Continued))
	in.decided += n
	in.endMs = p.ends[n-1]
	p.ends = p.ends[n:]
	in.look(in.decided-n, in.nowMs)
	if done := in.decided - in.depth - in.complete; done > 0 {
		in.nowMs = in.log.End(in.decided - in.depth - 1)
		in.finish(done)
	}
	return true
}

// before is how many planned passes are decided before untilMs: at least the
// first. Pass i is decided when pass i − depth ends.
func (in *Instance) before(untilMs float64) int {
	ends := in.plan.ends
	n := 1
	for n < len(ends) && n < in.depth && in.log.End(in.decided+n-in.depth) < untilMs {
		n++
	}
	if n < in.depth {
		return n
	}
	return min(len(ends), in.depth+sort.SearchFloat64s(ends, untilMs))
}

// guess is how many passes may be needed to reach untilMs.
func (in *Instance) guess(untilMs float64) int {
	if in.plan.stepMs <= 0 {
		return planned
	}
	if n := (untilMs - in.nowMs) / in.plan.stepMs; n < planned-4 {
		return int(n) + 4
	}
	return planned
}

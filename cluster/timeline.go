package cluster

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// AdvanceTo lets time pass up to tMs: passes that end at or before tMs are
// complete, decisions before tMs are made. Times must not go back.
func (in *Instance) AdvanceTo(tMs float64) error {
	for in.err == nil {
		if in.due {
			if in.nowMs >= tMs {
				break
			}
			in.decide(tMs)
			continue
		}
		wake, flying := in.wakeMs()
		if wake > tMs || wake == tMs && !flying {
			break
		}
		in.nowMs, in.due = wake, true
		if flying {
			in.finish(1)
		}
	}
	return in.err
}

// Start makes the decisions of tMs, to which the instance has been advanced.
func (in *Instance) Start(tMs float64) error {
	if !in.due {
		if wake, flying := in.wakeMs(); flying || wake > tMs {
			return in.err
		}
		in.nowMs = tMs
	}
	in.decide(tMs)
	return in.err
}

// Finish brings the instance to the end of the instant tMs: also passes that take
// no time are over.
func (in *Instance) Finish(tMs float64) error {
	for {
		if err := in.AdvanceTo(tMs); err != nil {
			return err
		}
		if err := in.Start(tMs); err != nil {
			return err
		}
		if wake, _ := in.wakeMs(); wake > tMs && !in.due {
			return nil
		}
	}
}

// stillUntilMs is when something may happen to the instance next.
func (in *Instance) stillUntilMs() float64 {
	if in.due {
		return math.Inf(-1)
	}
	wake, _ := in.wakeMs()
	return wake
}

// Idle is whether nothing will happen to the instance by itself.
func (in *Instance) Idle() bool { return !in.due && in.decided == in.complete && in.inbox.len() == 0 }

// NowMs is the last instant at which something happened.
func (in *Instance) NowMs() float64 { return in.nowMs }

// NextMs is the next instant at which the instance has to be looked at: not after
// its next effect that somebody has to be told, +Inf if nothing will happen.
func (in *Instance) NextMs() float64 {
	if in.due {
		return in.nowMs
	}
	wake, flying := in.wakeMs()
	if !flying || in.everyPass || in.tells&routing.Admission != 0 || in.flashes() {
		return wake
	}
	if pass, ok := in.rank.NextEffect(in.tells&routing.FirstToken != 0); ok {
		if in.asks() {
			return wake
		}
		return in.log.End(pass)
	}
	if in.decided-in.complete == in.depth && in.preview() {
		last := in.plan.lastMs()
		if in.asks() {
			last = in.behindPlanMs()
		}
		return min(last, max(wake, in.inbox.nextMs()))
	}
	return wake
}

// asks is whether a decision outside a stretch may ask what other instances hold: it
// has to be made at its instant.
func (in *Instance) asks() bool { return in.tiers != nil && in.tiers.on() }

// flashes is whether the oldest pass in flight takes no time: it is over in the next
// round of the instant, which others may see.
func (in *Instance) flashes() bool {
	return in.tiers != nil && in.decided > in.complete && in.log.End(in.complete) <= in.nowMs
}

// wakeMs is when the instance wakes up by itself: the end of the oldest pass in
// flight, or, if none is, the next submission.
func (in *Instance) wakeMs() (ms float64, flying bool) {
	if in.decided > in.complete {
		return in.log.End(in.complete), true
	}
	return in.inbox.nextMs(), false
}

// finish completes the n oldest passes.
func (in *Instance) finish(n int) {
	in.complete += n
	in.fx.Reset()
	in.rank.Complete(n, &in.fx)
	in.apply(in.nowMs)
}

// decide makes the decisions of nowMs and, where passes follow one another
// without any effect, those at times before untilMs.
func (in *Instance) decide(untilMs float64) {
	in.due, in.sealed = false, false
	in.deliver()
	for in.err == nil && !in.sealed && in.decided-in.complete < in.depth {
		if in.commit(untilMs) {
			continue
		}
		if !in.schedule() {
			break
		}
	}
	if in.decided == in.complete && in.err == nil {
		in.unstick()
	}
}

// deliver hands over what has arrived.
func (in *Instance) deliver() {
	for in.inbox.nextMs() <= in.nowMs {
		in.forgetPlan()
		in.rank.Submit(&in.inbox.pop().request)
	}
}

// schedule decides one pass. It is false if there is nothing to decide any more
// at this instant.
func (in *Instance) schedule() bool {
	in.plan.drop()
	in.fx.Reset()
	d := in.rank.Schedule(&in.pass, &in.fx)
	in.apply(in.nowMs)
	in.countPreempted()
	in.look(in.decided, in.nowMs)
	if d != engine.Decided {
		in.sealed = in.decided > in.complete
		return d == engine.Changed
	}
	cost, err := in.model.Cost(&in.pass.Cost)
	if err != nil {
		in.err = fmt.Errorf("bucket %d, instance %d at %v ms: %w", in.bucket, in.id, in.nowMs, err)
		return false
	}
	start := in.startMs()
	in.endMs = in.after(start, cost)
	in.log.Append(in.endMs, int32(in.pass.Continued))
	in.decided++
	in.observe(&in.pass.Cost, start, in.lastEnd())
	in.preempted = 0
	return true
}

// startMs is when the pass decided now starts: at once, or when the passes in
// flight are over. A gap ends a busy time.
func (in *Instance) startMs() float64 {
	if in.nowMs > in.endMs {
		in.busyMs += in.endMs - in.busyFromMs
		in.busyFromMs, in.endMs = in.nowMs, in.nowMs
	}
	return in.endMs
}

// after is the end of a pass that starts at start. The parts are added one by
// one, prefill first (spec/engine.md 3.3, 16.3).
func (in *Instance) after(start float64, cost latency.Duration) float64 {
	t := start + cost.PrefillMs
	t += cost.DecodeMs
	return t + in.hostMs
}

// unstick ends a request that could never be admitted though nothing runs, so that
// nothing waits for ever. Those behind it have their turn at the same instant.
func (in *Instance) unstick() {
	if row, reason, ok := in.rank.Stuck(); ok {
		in.Cancel(row, metrics.Failed, reason, in.nowMs)
	}
}

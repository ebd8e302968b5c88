package workload

import "github.com/reprise-sim/reprise/trace"

// Option is something that the loop which owns a driver asks for. No option changes
// the order of what is released.
type Option func(*Driver)

// GoOnAfterFailure lets what waits for a call that failed or was cancelled start as
// if it had completed. Inputs are recorded, so the rest of its task can be sent all
// the same (spec/live.md F.3).
func GoOnAfterFailure() Option { return func(d *Driver) { d.goOn = true } }

// RunTools makes the tools and waits that which chooses come out of [Driver.Release]
// when they start, for the loop to run; it says with [Driver.Done] when they have
// ended. Their recorded durations do not count. Tools are in no [Counts]. It has no
// effect with turns: recorded.
func RunTools(which func(*trace.Node) bool) Option {
	return func(d *Driver) { d.runs, d.independent = which, false }
}

// LateFeedback lets [Driver.Done] and [Driver.Progress] say what happened before the
// last time told, as on a wall clock: what follows, the next task in a slot included,
// is due from when it happened, not from when somebody came to say so.
func LateFeedback() Option {
	return func(d *Driver) {
		d.late = true
		if s, ok := d.gate.(*slots); ok {
			s.late = true
		}
	}
}

// RampSlots opens the slots of mode concurrency one after the other, at equal steps
// within the first overMs of the run, instead of all at once. It has no effect with
// recorded times.
func RampSlots(overMs float64) Option {
	return func(d *Driver) {
		if s, ok := d.gate.(*slots); ok {
			s.everyMs = overMs / float64(s.unused)
		}
	}
}

// Announce tells of a call, or of a tool of [RunTools], before it is released: as soon
// as nothing but the clock keeps it, with the instant at which it will be due as far
// as that is known. The loop can then prepare what it will send. What is announced
// more than once, or never released because its task fails, is possible.
func Announce(tell func(t *trace.Task, node int32, dueMs float64)) Option {
	return func(d *Driver) { d.announce = tell }
}

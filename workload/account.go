package workload

import "github.com/reprise-sim/reprise/metrics"

// Reason is why calls of a trace were not released.
type Reason = metrics.Reason

// The reasons of a driver.
const (
	PredecessorFailed = metrics.PredecessorFailed // a call of their task failed or was cancelled
	Limit             = metrics.Limit             // [Limits].Requests was reached
	TimeCap           = metrics.TimeCap           // [Limits].MaxSimTimeMs was reached
	Interrupted       = metrics.Interrupted       // somebody ended the run
)

// Counts says where the calls of the trace are: InTrace = Offered + Skipped +
// those still to come.
type Counts struct {
	InTrace  int
	Offered  int // released
	InFlight int // released and not ended
	Skipped  int // will not be released because a call of their task failed
}

// Counts says where the calls stand now.
func (d *Driver) Counts() Counts { return d.counts }

// NotReleased counts the calls of the trace that were not released, by reason. When
// a run has drained or was stopped, they and the offered ones are all there are.
func (d *Driver) NotReleased() map[Reason]int64 {
	left := map[Reason]int64{}
	if d.counts.Skipped > 0 {
		left[PredecessorFailed] = int64(d.counts.Skipped)
	}
	if rest := d.counts.InTrace - d.counts.Offered - d.counts.Skipped; rest > 0 && d.stopped != "" {
		left[d.stopped] += int64(rest)
	}
	return left
}

// Stop ends the release of calls: what is left is not released, for the given
// reason unless the driver has stopped before. Calls in flight still end with
// [Driver.Done].
func (d *Driver) Stop(why Reason) {
	if d.closed() {
		return
	}
	d.stopped = why
	d.ahead, d.queue, d.waiting = nil, nil, 0
}

// keepLimit stops the driver when it has released all that it may.
func (d *Driver) keepLimit() {
	if d.counts.Offered >= d.limit {
		d.Stop(Limit)
	}
}

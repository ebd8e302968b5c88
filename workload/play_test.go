package workload_test

import (
	"math"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/workload"
)

// server says how long a call takes and how it ends.
type server func(c workload.Call) (serviceMs float64, s metrics.Status)

// clock is a virtual clock for a driver and a server that never queues.
type clock struct {
	driver *workload.Driver
	serve  server
	busy   []busy // in order of release

	nowMs float64
	calls []workload.Call // all released
	batch func(nowMs float64, calls []workload.Call)

	lateMs     func() float64 // how late the loop comes to release calls; nil: in time
	releasedMs float64        // when it came last
}

// busy is a call in service.
type busy struct {
	call       workload.Call
	endMs      float64
	status     metrics.Status
	wants      int32   // output position that the driver waits for, 0 if none
	progressMs float64 // when it is written
}

// play runs until nothing more happens.
func play(d *workload.Driver, serve server) *clock {
	c := &clock{driver: d, serve: serve}
	for c.step() {
	}
	return c
}

// next is the next instant at which something happens.
func (c *clock) next() float64 {
	now := c.driver.Next()
	for i := range c.busy {
		now = min(now, c.busy[i].endMs, c.busy[i].progressMs)
	}
	return now
}

// step is one instant: progress, then ends, then releases (spec/replay.md 2.8).
func (c *clock) step() bool {
	now := c.next()
	if math.IsInf(now, 1) {
		return false
	}
	c.nowMs = now
	for i := range c.busy {
		for b := &c.busy[i]; b.progressMs == now; {
			c.driver.Progress(b.call.Row, b.wants, now)
			b.watch(c.driver)
		}
	}
	var left []busy
	for _, b := range c.busy {
		if b.endMs > now {
			left = append(left, b)
			continue
		}
		c.driver.Done(b.call.Row, workload.Outcome{Status: b.status, OutputTokens: node(b.call).OutputTokens}, now)
	}
	c.busy = left
	if c.lateMs != nil {
		now = max(c.releasedMs, now+c.lateMs())
	}
	c.releasedMs = now
	c.release(now)
	return true
}

// release takes what is due and serves it.
func (c *clock) release(now float64) {
	calls := c.driver.Release(now, nil)
	for _, call := range calls {
		ms, status := c.serve(call)
		b := busy{call: call, endMs: call.DueMs + ms, status: status}
		b.watch(c.driver)
		c.busy = append(c.busy, b)
	}
	c.calls = append(c.calls, calls...)
	if c.batch != nil {
		c.batch(now, calls)
	}
}

// watch asks which output position counts next. Tokens come evenly over the
// service time; a position behind the last one never comes.
func (b *busy) watch(d *workload.Driver) {
	b.wants, b.progressMs = d.WantsProgress(b.call.Row), math.Inf(1)
	if n := node(b.call); b.wants > 0 && b.wants <= n.OutputTokens {
		b.progressMs = writtenMs(b.call.DueMs, b.endMs-b.call.DueMs, b.wants, n.OutputTokens)
	}
}

// writtenMs is when token k of n is written.
func writtenMs(startMs, serviceMs float64, k, n int32) float64 {
	return startMs + float64(serviceMs*float64(k))/float64(n)
}

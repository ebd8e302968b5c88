package live

import (
	"sync/atomic"
	"time"
)

// clock is the monotonic time of a run in ms. It can be started again when nothing is
// in flight.
type clock struct {
	base   time.Time
	origin atomic.Int64 // ns from base
}

func newClock() *clock { return &clock{base: time.Now()} }

// now is the time since the run began.
func (c *clock) now() float64 { return float64(int64(time.Since(c.base))-c.origin.Load()) / 1e6 }

// restart makes it 0 now.
func (c *clock) restart() { c.origin.Store(int64(time.Since(c.base))) }

// duration is a time in ms; the longest there is if it is too long for one.
func duration(ms float64) time.Duration {
	const longest = 1 << 62
	if !(ms < longest/1e6) {
		return longest
	}
	return time.Duration(ms * 1e6)
}

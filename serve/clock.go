package serve

import (
	"math"
	"time"
)

// clock maps the wall clock to the time of the simulation, in ms.
type clock struct {
	began time.Time
	speed float64 // simulated time per time; 0: no waiting
}

// nowMs is the time of the simulation, which has got to atMs.
func (c *clock) nowMs(atMs float64) float64 {
	if c.speed == 0 {
		return atMs
	}
	return max(atMs, float64(time.Since(c.began))/1e6*c.speed)
}

// wait is how long it is until nextMs; negative: for ever.
func (c *clock) wait(nextMs float64) time.Duration {
	switch {
	case math.IsInf(nextMs, 1):
		return -1
	case c.speed == 0:
		return 0
	}
	ns := math.Ceil(nextMs / c.speed * 1e6)
	if ns > math.MaxInt64/2 {
		return -1
	}
	return max(0, time.Until(c.began.Add(time.Duration(ns))))
}

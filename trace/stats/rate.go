package stats

import (
	"math"

	"github.com/reprise-sim/reprise/trace"
)

// Rate is how many tasks arrive per second of the recording.
type Rate struct {
	Mean     float64   `json:"mean_per_s"` // 1 / mean time between arrivals
	Peak     float64   `json:"peak_per_s"` // of the fullest window
	PeakAtMs float64   `json:"peak_at_ms"` // where it starts, from the trace's origin
	WindowMs float64   `json:"window_ms"`  // length of a window
	FromMs   float64   `json:"from_ms"`    // where the first window starts
	PerS     []float64 `json:"per_s"`      // of each window
}

// mostWindows is how many windows the recorded time is cut into, at most.
const mostWindows = 60

// rateCount counts arrivals by window. It is nil if there is no time to cut.
type rateCount struct {
	tasks  int
	spanMs float64
	fromMs float64
	window float64
	counts []int
}

// newRate cuts the time of a trace into windows of 1, 2 or 5 times a power of ten
// ms.
func newRate(r *trace.Report) *rateCount {
	span := r.LastMs - r.FirstMs
	if r.Tasks-r.Untimed < 2 || span <= 0 {
		return nil
	}
	c := &rateCount{tasks: r.Tasks - r.Untimed, spanMs: span, fromMs: r.FirstMs, window: 1}
	for i := 1; span/c.window >= mostWindows; i++ {
		c.window = [...]float64{1, 2, 5}[i%3] * math.Pow10(i/3)
	}
	c.counts = make([]int, int(span/c.window)+1)
	return c
}

// add counts an arrival.
func (c *rateCount) add(ms float64) {
	if c != nil {
		c.counts[int((ms-c.fromMs)/c.window)]++
	}
}

// rate is the rate of what has been counted.
func (c *rateCount) rate() *Rate {
	if c == nil {
		return nil
	}
	r := &Rate{Mean: 1000 * float64(c.tasks-1) / c.spanMs, WindowMs: c.window, FromMs: c.fromMs, Peak: math.Inf(-1)}
	for i, n := range c.counts {
		perS := 1000 * float64(n) / c.window
		if perS > r.Peak {
			r.Peak, r.PeakAtMs = perS, c.fromMs+float64(float64(i)*c.window)
		}
		r.PerS = append(r.PerS, perS)
	}
	return r
}

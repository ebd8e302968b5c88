package kernel

import (
	"math"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/work"
)

// Law is the time of one execution of an operator (spec/latency.md 1.2, equation 1
// with p = 2):
//
//	t = launch + √( (FLOPs / (compute · peak))² + (bytes / (memory · bandwidth))² ) + side bytes / (side · bandwidth)
//
// Two limits that are equal give √2 times either: measured kernels have no kink at
// the ridge. The square root is correctly rounded, so the law has the same bits on
// every machine.
type Law struct {
	LaunchMs float64 // of a kernel inside a graph
	// Compute and Memory are the fractions of the peaks that are reached, at most 1;
	// 0: the limit does not apply.
	Compute, Memory float64
	Side            float64 // fraction of the bandwidth that kernels around it reach; 0: nothing is moved
	// Borrowed: there is no table for this GPU and format; the constants are those of
	// one that is alike.
	Borrowed bool
	Source   string
}

// Limits are the two times of an operator at full speed, ms: the speed of light is
// the larger one.
func Limits(o *work.Op, g *hardware.GPU) (computeMs, memoryMs float64) {
	return o.FLOPs / g.Peak(o.Unit()) * 1e3, o.Bytes() / g.Bandwidth * 1e3
}

// Terms are the parts of a law's answer, ms.
type Terms struct{ Launch, Compute, Memory, Side float64 }

// Terms is what the law says of an operator that is not a message.
func (l *Law) Terms(o *work.Op, g *hardware.GPU) Terms {
	c, m := Limits(o, g)
	t := Terms{Launch: l.LaunchMs, Compute: over(c, l.Compute), Memory: over(m, l.Memory)}
	t.Side = over(o.Side/g.Bandwidth*1e3, l.Side)
	return t
}

// over is a time at a fraction of full speed.
func over(ms, fraction float64) float64 {
	if fraction == 0 {
		return 0
	}
	return ms / fraction
}

// Ms is the sum of the terms, compute and memory overlapping.
func (t Terms) Ms() float64 {
	return t.Launch + math.Sqrt(float64(t.Compute*t.Compute)+float64(t.Memory*t.Memory)) + t.Side
}

// Message is the time of a collective (spec/latency.md 1.11, equation 8):
//
//	t = launch + wire bytes of a GPU / (efficiency · link)
type Message struct {
	LaunchMs, Efficiency float64
	Borrowed             bool
	Source               string
}

// Wire is the bytes that leave a GPU in a collective.
func Wire(o *work.Op) float64 {
	n := float64(o.Ranks)
	switch o.Class {
	case work.AllReduce:
		return 2 * (n - 1) / n * o.Message
	case work.AllGather, work.ReduceScatter:
		return (n - 1) / n * o.Message
	}
	return o.Message
}

// Ms is the time of a collective between the GPUs of o.
func (m *Message) Ms(o *work.Op, g *hardware.GPU) float64 {
	return m.LaunchMs + float64(Wire(o)/(m.Efficiency*g.Between(o.Ranks))*1e3)
}

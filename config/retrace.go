package config

import (
	"errors"
	"io"
	"math"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// retrace writes a run as a trace: the tasks that it was given, with the times that
// the simulation gave them. Replayed under the same settings (an arrival.speedup
// set back to 1), it gives the same run.
type retrace struct {
	input   trace.Trace
	speedup float64
	zeroMs  float64 // recorded time that was time 0; NaN if recorded times did not count
	out     io.Writer
	seen    map[uint64]moments // of offered calls, by the identity of their id
}

// moments are the times of a call in the run.
type moments struct{ arrivalMs, firstMs, endMs float64 }

// traceFile is the name of the trace of a run.
const traceFile = "trace.jsonl"

func newRetrace(c *Config, t trace.Trace, d *rundir.Draft) (*retrace, error) {
	r := &retrace{input: t, speedup: 1, zeroMs: math.NaN(), seen: map[uint64]moments{}}
	if c.Arrival.Mode == workload.ModeTrace {
		r.speedup, r.zeroMs = c.Arrival.Speedup, 0
		if c.Arrival.Origin == workload.OriginFirst {
			r.zeroMs = t.Report().FirstMs
		}
	}
	out, err := d.File(traceFile)
	r.out = out
	return r, err
}

// see notes a call that has ended.
func (r *retrace) see(row *metrics.Row) {
	m := moments{row.ArrivalMs, row.FirstMs, row.EndMs}
	if row.OutputTokens == 0 {
		m.firstMs = math.NaN()
	}
	r.seen[token.Identity(row.Request)] = m
}

// write reads the trace once more and writes every task of which a call was
// offered, and those without calls.
func (r *retrace) write() error {
	w, err := trace.NewWriter(r.out, r.input.Header())
	if err != nil {
		return err
	}
	var starts []float64
	if math.IsNaN(r.zeroMs) {
		if starts, err = r.starts(); err != nil {
			return err
		}
	}
	err = r.each(func(i int, t *trace.Task) error {
		if t.Calls() > 0 && math.IsInf(r.firstMs(t), 1) {
			return nil
		}
		if starts != nil {
			t.ReleaseMs = starts[i]
		} else {
			t.ReleaseMs = (t.ReleaseMs - r.zeroMs) / r.speedup // as the driver computes it
		}
		r.retime(t)
		return w.Write(t)
	})
	return errors.Join(err, w.Close())
}

// each visits the tasks of the trace.
func (r *retrace) each(visit func(i int, t *trace.Task) error) error {
	tasks, err := r.input.Tasks()
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		t, err := tasks.Next()
		if err == nil {
			err = visit(i, t)
		}
		if err == io.EOF {
			return tasks.Close()
		}
		if err != nil {
			return errors.Join(err, tasks.Close())
		}
	}
}

// starts are when the tasks of a closed loop took their slots, as far as their calls
// tell: no later than their own calls and, since slots are taken in the order of the
// trace, those of the tasks behind. So the written tasks keep that order.
func (r *retrace) starts() ([]float64, error) {
	var starts []float64
	lastMs := 0.0
	err := r.each(func(_ int, t *trace.Task) error {
		firstMs := r.firstMs(t)
		if !math.IsInf(firstMs, 1) {
			lastMs = max(lastMs, firstMs)
		}
		starts = append(starts, max(0, firstMs)) // tools before its first call count to the wait for a slot
		return nil
	})
	for i := len(starts) - 1; i >= 0; i-- {
		lastMs = min(lastMs, starts[i])
		starts[i] = lastMs
	}
	return starts, err
}

// firstMs is the release of a task that its calls in the run tell of, +Inf if none
// was offered.
func (r *retrace) firstMs(t *trace.Task) float64 {
	first := math.Inf(1)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if m, ok := r.seen[token.Identity(n.ID)]; ok && n.Kind == trace.LLM {
			first = min(first, m.arrivalMs-n.NotBeforeMs)
		}
	}
	return first
}

// retime gives the nodes of a task the times of the run.
func (r *retrace) retime(t *trace.Task) {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		r.pause(n)
		n.Details = withRecorded(n.Details, nil)
		if m, ok := r.seen[token.Identity(n.ID)]; ok && n.Kind == trace.LLM {
			n.Details = withRecorded(n.Details, &trace.Recorded{StartMs: m.arrivalMs, FirstTokenMs: m.firstMs, EndMs: m.endMs})
		}
	}
}

// pause makes the pauses of a node those of the run.
func (r *retrace) pause(n *trace.Node) {
	n.NotBeforeMs /= r.speedup
	n.DurationMs /= r.speedup
	for i := range n.After {
		n.After[i].DelayMs /= r.speedup
	}
}

// withRecorded is a copy of details with other recorded times; nil if there are
// neither.
func withRecorded(d *trace.Details, at *trace.Recorded) *trace.Details {
	if d == nil && at == nil {
		return nil
	}
	var c trace.Details
	if d != nil {
		c = *d
	}
	c.Recorded = at
	return &c
}

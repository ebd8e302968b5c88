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
// offered.
func (r *retrace) write() error {
	w, err := trace.NewWriter(r.out, r.input.Header())
	if err != nil {
		return err
	}
	tasks, err := r.input.Tasks()
	if err != nil {
		return err
	}
	for {
		t, err := tasks.Next()
		if err == io.EOF {
			return errors.Join(tasks.Close(), w.Close())
		}
		if err == nil && r.retime(t) {
			err = w.Write(t)
		}
		if err != nil {
			return errors.Join(err, tasks.Close())
		}
	}
}

// retime gives a task the times of the run. It is false if nothing of it was
// offered.
func (r *retrace) retime(t *trace.Task) bool {
	firstMs := math.Inf(1)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		r.pause(n)
		n.Details = withRecorded(n.Details, nil)
		if m, ok := r.seen[token.Identity(n.ID)]; ok && n.Kind == trace.LLM {
			n.Details = withRecorded(n.Details, &trace.Recorded{StartMs: m.arrivalMs, FirstTokenMs: m.firstMs, EndMs: m.endMs})
			firstMs = min(firstMs, m.arrivalMs-n.NotBeforeMs)
		}
	}
	if math.IsInf(firstMs, 1) {
		return false
	}
	if math.IsNaN(r.zeroMs) {
		t.ReleaseMs = max(0, firstMs) // a slot was free; tools before its first call count to the wait for it
	} else {
		t.ReleaseMs = (t.ReleaseMs - r.zeroMs) / r.speedup // as the driver computes it
	}
	return true
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

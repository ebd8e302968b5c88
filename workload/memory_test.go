package workload_test

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/trace"
)

// memory is a trace of tasks that are at hand, in any order.
type memory []*trace.Task

func (m memory) Header() trace.Header { return trace.Header{Format: "memory"} }

func (m memory) Report() *trace.Report {
	r := &trace.Report{Rows: len(m), Tasks: len(m), Independent: true, FirstMs: math.Inf(1), LastMs: math.Inf(-1)}
	for _, t := range m {
		r.Calls += t.Calls()
		r.Independent = r.Independent && t.Calls() == 1
		if math.IsNaN(t.ReleaseMs) {
			r.Untimed++
			continue
		}
		r.FirstMs, r.LastMs = min(r.FirstMs, t.ReleaseMs), max(r.LastMs, t.ReleaseMs)
	}
	if r.Untimed == r.Tasks {
		r.FirstMs, r.LastMs = 0, 0
	}
	return r
}

func (m memory) Tasks() (trace.Source, error) {
	sorted := slices.Clone(m)
	slices.SortStableFunc(sorted, func(a, b *trace.Task) int {
		return cmp.Compare(a.ReleaseMs, b.ReleaseMs) // NaN, untimed, comes first
	})
	return &pass{left: sorted}, nil
}

// pass streams tasks, then says err (io.EOF if that is nil).
type pass struct {
	left   []*trace.Task
	err    error
	closed bool
}

func (p *pass) Next() (*trace.Task, error) {
	if len(p.left) == 0 {
		if p.err != nil {
			return nil, p.err
		}
		return nil, io.EOF
	}
	t := p.left[0]
	p.left = p.left[1:]
	return t, nil
}

func (p *pass) Close() error {
	p.closed = true
	return nil
}

// request is a flat request.
func request(id string, releaseMs float64) *trace.Task {
	return &trace.Task{ID: id, ReleaseMs: releaseMs, Nodes: []trace.Node{{ID: id, InputTokens: 100, OutputTokens: 50}}}
}

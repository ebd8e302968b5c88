package synth

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/reprise-sim/reprise/trace"
)

// Format is the name that a synthetic trace gives as its format and origin.
const Format = "synthetic"

// Trace is a synthetic trace. It implements [trace.Trace].
type Trace struct {
	spec     Spec
	policies policies
	header   trace.Header
	report   trace.Report
}

// New checks the spec and draws all tasks once to count them.
func New(s Spec) (*Trace, error) {
	s = s.resolved()
	p, err := s.policies()
	if err != nil {
		return nil, err
	}
	canonical, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("digest of the spec: %w", err)
	}
	t := &Trace{spec: s, policies: p}
	t.header = trace.Header{
		Format:    Format,
		Depth:     trace.Blocks,
		BlockSize: s.BlockSize,
		IDs:       "global",
		Source:    trace.Origin{Format: Format, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(canonical))},
	}
	if err := t.count(); err != nil {
		return nil, err
	}
	return t, nil
}

// count fills the report.
func (t *Trace) count() error {
	d, r := newPlanner(t.spec, t.policies), &t.report
	var p plan
	for i := range t.spec.Tasks {
		d.next(&p)
		if err := p.check(); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		r.Calls += len(p.turns)
		r.LastMs = p.releaseMs
		for _, turn := range p.turns {
			r.InputTokens += turn.prompt
			r.OutputTokens += int64(turn.output)
		}
	}
	r.Tasks, r.Rows = t.spec.Tasks, r.Calls
	r.Independent = r.Calls == r.Tasks
	return nil
}

// Header implements [trace.Trace]. The digest of its source is that of the spec.
func (t *Trace) Header() trace.Header { return t.header }

// Report implements [trace.Trace].
func (t *Trace) Report() *trace.Report { return &t.report }

// Tasks implements [trace.Trace].
func (t *Trace) Tasks() (trace.Source, error) {
	return &source{
		planner: newPlanner(t.spec, t.policies),
		left:    t.spec.Tasks,
		author:  author{spec: t.spec, unique: 1},
	}, nil
}

// source writes down one task after the other.
type source struct {
	planner *planner
	plan    plan
	author  author
	left    int
}

func (s *source) Next() (*trace.Task, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	s.left--
	s.planner.next(&s.plan)
	id := "t" + strconv.Itoa(s.author.spec.Tasks-s.left-1)
	return s.author.task(id, &s.plan), nil
}

func (s *source) Close() error { return nil }

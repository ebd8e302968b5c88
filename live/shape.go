package live

import (
	"io"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/trace"
)

// shaped is a trace of which each task is changed as it is read. Passes are
// independent of one another.
type shaped struct {
	trace.Trace
	report trace.Report
	pass   func() (change func(*trace.Task) error)
}

func (s *shaped) Report() *trace.Report { return &s.report }

func (s *shaped) Tasks() (trace.Source, error) {
	source, err := s.Trace.Tasks()
	if err != nil {
		return nil, err
	}
	return &shapedSource{source, s.pass()}, nil
}

type shapedSource struct {
	trace.Source
	change func(*trace.Task) error
}

func (s *shapedSource) Next() (*trace.Task, error) {
	t, err := s.Source.Next()
	if err == nil {
		err = s.change(t)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// paced is a trace with other durations of tools and waits.
func (s *Settings) paced(t trace.Trace) trace.Trace {
	if s.Tools.Kind == PaceRecorded && s.Think.Kind == PaceRecorded {
		return t
	}
	change := func(task *trace.Task) error {
		for i := range task.Nodes {
			switch n := &task.Nodes[i]; n.Kind {
			case trace.Tool:
				n.DurationMs = s.Tools.ms(n.DurationMs)
			case trace.Think:
				n.DurationMs = s.Think.ms(n.DurationMs)
			case trace.LLM:
			}
		}
		return nil
	}
	return &shaped{t, *t.Report(), func() func(*trace.Task) error { return change }}
}

// timed is a trace whose tasks arrive as the process says, in their order. Every pass
// draws the same times.
func (s *Settings) timed(t trace.Trace) (trace.Trace, error) {
	if s.Process == nil {
		return t, nil
	}
	process, err := arrival.NewProcess(*s.Process)
	if err != nil {
		return nil, err
	}
	times := func() *arrival.Times {
		return arrival.NewTimes(process, arrival.NewRand(uint64(s.Seed), "live.arrival"))
	}
	out := &shaped{Trace: t, report: *t.Report()}
	out.report.Untimed, out.report.FirstMs, out.report.LastMs = 0, 0, 0
	last := times()
	for range out.report.Tasks {
		out.report.LastMs = last.Next()
	}
	out.pass = func() func(*trace.Task) error {
		next := times()
		return func(task *trace.Task) error {
			task.ReleaseMs = next.Next()
			return nil
		}
	}
	return out, nil
}

// first is the first tasks of a trace.
type first struct {
	trace.Trace
	tasks int
}

func (f first) Tasks() (trace.Source, error) {
	source, err := f.Trace.Tasks()
	if err != nil {
		return nil, err
	}
	return trace.Slice(source, 0, f.tasks), nil
}

// eachTask calls visit for the tasks of a trace, in order.
func eachTask(t trace.Trace, visit func(*trace.Task) error) error {
	source, err := t.Tasks()
	if err != nil {
		return err
	}
	defer source.Close()
	for {
		task, err := source.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = visit(task)
		}
		if err != nil {
			return err
		}
	}
}

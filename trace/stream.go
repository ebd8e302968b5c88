package trace

import (
	"errors"
	"fmt"
	"io"

	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// stream hands out tasks in order, in the goroutine that asks.
type stream interface {
	// next fills in t; io.EOF after the last task.
	next(t *Task) error
	// consumed is the number of bytes of rows read so far.
	consumed() int
	close() error
}

// stream starts a pass over all tasks.
func (t *rowTrace[R]) stream() (stream, error) {
	for _, in := range t.inputs {
		if err := in.file.Unchanged(); err != nil {
			return nil, err
		}
	}
	if t.index != nil {
		return newIndexed(t, false), nil
	}
	m := &merge{}
	reader := t.format.NewReader()
	for _, in := range t.inputs {
		w, err := newWalk(in, reader, streaming{}, false, nil)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.parts = append(m.parts, part{stream: &sequential[R]{w}})
	}
	if len(m.parts) == 1 {
		return m.parts[0].stream, nil
	}
	return m, nil
}

// streaming observes a pass over rows that have been checked: there is nothing bad.
type streaming struct{}

func (streaming) bad(f *Fault) error {
	return fmt.Errorf("the file has changed since it was checked: %w", f)
}

func (streaming) left(string) error { return nil }

// sequential reads the tasks of one file that is in order.
type sequential[R any] struct{ walk *walk[R] }

func (s *sequential[R]) next(t *Task) error {
	if _, err := s.walk.read(); err != nil {
		return err
	}
	return s.walk.build(t)
}

func (s *sequential[R]) consumed() int { return s.walk.text }
func (s *sequential[R]) close() error  { return s.walk.close() }

// indexed reads tasks by the index.
type indexed[R any] struct {
	trace   *rowTrace[R]
	reader  RowReader[R]
	windows []*linefile.Window
	group   group[R]
	slab    *Slab
	recycle bool
	at      int // next task
	text    int
}

func newIndexed[R any](t *rowTrace[R], recycle bool) *indexed[R] {
	s := &indexed[R]{trace: t, reader: t.format.NewReader(), slab: newSlab(recycle), recycle: recycle}
	for _, in := range t.inputs {
		s.windows = append(s.windows, in.file.Window())
	}
	return s
}

func (s *indexed[R]) next(t *Task) error {
	if s.at == len(s.trace.index.tasks) {
		return io.EOF
	}
	g, err := s.load(s.at)
	if err != nil {
		return err
	}
	s.at++
	return s.reader.Build(g.rows, t, s.slab)
}

// load reads the rows of task i.
func (s *indexed[R]) load(i int) (*group[R], error) {
	if s.recycle {
		s.slab.reset()
	}
	x, g := s.trace.index, &s.group
	task := x.tasks[i]
	g.rows, g.places = g.rows[:0], g.places[:0]
	for _, ref := range x.rows[task.from : task.from+task.n] {
		at := Place{s.trace.inputs[ref.file], ref.line}
		line, err := s.windows[ref.file].Line(ref.offset)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", at, err)
		}
		s.text += len(line)
		var row R
		if err := s.reader.Parse(line, at, &row, s.slab); err != nil {
			return nil, fmt.Errorf("the file has changed since it was checked: %w", err)
		}
		g.rows = append(g.rows, row)
		g.places = append(g.places, position{at, ref.offset})
	}
	g.label = s.reader.Label(&g.rows[0])
	return g, nil
}

func (s *indexed[R]) consumed() int { return s.text }
func (s *indexed[R]) close() error  { return nil }

// merge brings the tasks of several files in order. Equal times keep the order of
// the files.
type merge struct{ parts []part }

// part is one of the streams of a merge and its next task.
type part struct {
	stream
	task  Task
	state partState
}

type partState uint8

const (
	unread partState = iota // task has to be read
	ready
	ended
)

func (m *merge) next(t *Task) error {
	var best *part
	for i := range m.parts {
		p := &m.parts[i]
		if p.state == unread {
			p.task = Task{}
			switch err := p.next(&p.task); err {
			case nil:
				p.state = ready
			case io.EOF:
				p.state = ended
			default:
				return err
			}
		}
		if p.state == ready && (best == nil || released(p.task.ReleaseMs) < released(best.task.ReleaseMs)) {
			best = p
		}
	}
	if best == nil {
		return io.EOF
	}
	*t, best.state = best.task, unread
	return nil
}

func (m *merge) consumed() (n int) {
	for i := range m.parts {
		n += m.parts[i].consumed()
	}
	return n
}

func (m *merge) close() (err error) {
	for i := range m.parts {
		err = errors.Join(err, m.parts[i].close())
	}
	return err
}

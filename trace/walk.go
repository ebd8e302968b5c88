package trace

import (
	"fmt"
	"hash"
	"io"

	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// group is consecutive rows of one file that belong to one task.
type group[R any] struct {
	label  Label
	rows   []R
	places []position
}

// position is where a row stands, and at which byte.
type position struct {
	Place
	offset int64
}

// observer is told what is not part of any group. Its methods return an error to
// end the walk.
type observer interface {
	bad(f *Fault) error
	left(reason string) error
}

// walk goes through one file from its start, group by group.
type walk[R any] struct {
	input  *Input
	reader RowReader[R]
	observer
	lines *linefile.Lines
	file  io.Closer
	group group[R]
	// Rows and places that have been read; the group is the first of them. One more
	// is there if ahead is set, the first of the next group.
	rows   []R
	places []position
	label  Label // of the last row read
	ahead  bool
	slabs  [2]*Slab // where this group and the next go; one and the same if nothing is recycled
	text   int      // bytes of rows read
}

// newWalk starts at the first row of in. With recycle set, a group is valid until
// the next one is asked for, else for ever. sum, if not nil, gets the file's bytes.
func newWalk[R any](in *Input, reader RowReader[R], o observer, recycle bool, sum hash.Hash) (*walk[R], error) {
	r, err := in.file.Read(sum)
	if err != nil {
		return nil, err
	}
	w := &walk[R]{input: in, reader: reader, observer: o, lines: linefile.NewLines(r), file: r}
	w.slabs[0] = newSlab(recycle)
	w.slabs[1] = w.slabs[0]
	if recycle {
		w.slabs[1] = newSlab(true)
	}
	return w, nil
}

// read moves on to the next group; io.EOF after the last one.
func (w *walk[R]) read() (*group[R], error) {
	w.turn()
	if !w.ahead {
		if err := w.parse(); err != nil {
			return nil, err
		}
	}
	w.ahead = false
	g, n := &w.group, 1
	for g.label = w.label; g.label.Task != ""; n++ {
		err := w.parse()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if w.label.Task != g.label.Task {
			w.ahead = true
			break
		}
	}
	g.rows, g.places = w.rows[:n], w.places[:n]
	return g, nil
}

// turn gives the group that has been handed out up. What a row read ahead refers to
// stays where it is until the group after it.
func (w *walk[R]) turn() {
	if last := len(w.rows) - 1; w.ahead {
		w.rows[0], w.places[0] = w.rows[last], w.places[last]
		w.rows, w.places = w.rows[:1], w.places[:1]
	} else {
		w.rows, w.places = w.rows[:0], w.places[:0]
	}
	if w.slabs[0] != w.slabs[1] {
		w.slabs[0], w.slabs[1] = w.slabs[1], w.slabs[0]
		w.slabs[0].reset()
	}
}

// parse appends the next row that is used.
func (w *walk[R]) parse() error {
	var none R
	w.rows = append(w.rows, none)
	row := &w.rows[len(w.rows)-1]
	for {
		line, err := w.lines.Next()
		if err != nil {
			w.rows = w.rows[:len(w.rows)-1]
			if err != io.EOF {
				err = fmt.Errorf("%v: %w", Place{w.input, w.lines.Number()}, err)
			}
			return err
		}
		if line.Offset < w.input.first {
			continue
		}
		w.text += len(line.Text)
		at := Place{w.input, line.Number}
		if err = w.reader.Parse(line.Text, at, row, w.slabs[0]); err == nil {
			w.places = append(w.places, position{at, line.Offset})
			w.label = w.reader.Label(row)
			return nil
		}
		*row = none
		if err = w.observe(err); err != nil {
			return err
		}
	}
}

// observe tells the observer of a row that is not used.
func (w *walk[R]) observe(err error) error {
	switch err := err.(type) {
	case *Fault:
		return w.bad(err)
	case *leaveOut:
		return w.left(err.reason)
	}
	return err
}

// build makes the task of the group that was read last.
func (w *walk[R]) build(t *Task) error {
	return w.reader.Build(w.group.rows, t, w.slabs[0])
}

func (w *walk[R]) close() error { return w.file.Close() }

package trace

import (
	"cmp"
	"io"
	"slices"

	"github.com/reprise-sim/reprise/token"
)

// index is where the rows of each task stand.
type index struct {
	rows  []rowRef  // the rows of a task side by side, in the order of the files
	tasks []taskRef // in order
}

// rowRef is where a row stands.
type rowRef struct {
	offset     int64
	line, file int32
}

// taskRef is which rows a task has.
type taskRef struct {
	release float64
	from, n int32
}

// arrange finds the rows of each task, in the order of the tasks' first rows.
func (t *rowTrace[R]) arrange() (*index, error) {
	a := arranging{number: map[uint64]int32{}}
	reader := t.format.NewReader()
	for _, in := range t.inputs {
		if err := in.file.Unpack(); err != nil {
			return nil, err
		}
		w, err := newWalk(in, reader, streaming{}, true, nil)
		if err != nil {
			return nil, err
		}
		for err == nil {
			var g *group[R]
			if g, err = w.read(); err == nil {
				a.add(&g.label, g.places)
			}
		}
		w.close()
		if err != io.EOF {
			return nil, err
		}
	}
	return a.index(), nil
}

// arranging collects rows by task.
type arranging struct {
	number map[uint64]int32 // of a task, by the identity of its id
	rows   []rowRef
	task   []int32 // of each row
	count  []int32 // rows of each task
}

// add notes consecutive rows of one task.
func (a *arranging) add(l *Label, places []position) {
	n, known := int32(len(a.count)), false
	if l.Task != "" {
		id := token.Identity(l.Task)
		if n, known = a.number[id]; !known {
			n = int32(len(a.count))
			a.number[id] = n
		}
	}
	if !known {
		a.count = append(a.count, 0)
	}
	a.count[n] += int32(len(places))
	for _, p := range places {
		a.rows = append(a.rows, rowRef{p.offset, p.Line, int32(p.File.number)})
		a.task = append(a.task, n)
	}
}

// index puts the rows of each task side by side.
func (a *arranging) index() *index {
	x := &index{rows: make([]rowRef, len(a.rows)), tasks: make([]taskRef, len(a.count))}
	from := int32(0)
	for i, n := range a.count {
		x.tasks[i].from = from
		from += n
	}
	for i, row := range a.rows {
		t := &x.tasks[a.task[i]]
		x.rows[t.from+t.n] = row
		t.n++
	}
	return x
}

// assemble builds each task once: only then is it known whether its rows are a task
// and when it is released. It brings the index in order. named says that some node
// is not named after its line.
func (t *rowTrace[R]) assemble(named bool) (*tally[R], error) {
	s := newIndexed(t, true)
	y := newTally(s.reader)
	if named {
		y.ids.begin()
	}
	var task Task
	for i := range t.index.tasks {
		task = Task{}
		g, err := s.load(i)
		if err != nil {
			return nil, err
		}
		if y.add(&task, s.reader.Build(g.rows, &task, s.slab), g) {
			t.index.tasks[i].release = released(task.ReleaseMs)
		}
	}
	if err := y.faults.orNil(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.index.tasks, func(a, b taskRef) int { return cmp.Compare(a.release, b.release) })
	return y, nil
}

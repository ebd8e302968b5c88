package trace

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"

	"github.com/reprise-sim/reprise/token"
)

// survey is the checking pass: it reads all rows of all files once, from the start.
type survey[R any] struct {
	*tally[R]
	rows       int // read
	leftOut    []LeftOut
	outOfOrder int
	refused    Refusal
	task       Task // built last

	tasks     map[uint64]struct{} // tasks met, by the identity of their id
	scattered bool                // the rows of a task stand in several places
	unsorted  bool                // a task stands behind one that is released later
}

// survey checks all rows.
func (t *rowTrace[R]) survey() (*survey[R], error) {
	s := &survey[R]{tally: newTally(t.format.NewReader()), tasks: map[uint64]struct{}{}}
	for _, in := range t.inputs {
		if err := s.file(in); err != nil {
			return nil, err
		}
	}
	if err := s.refused.orNil(); err != nil {
		return nil, err
	}
	if s.rows == 0 {
		return nil, fmt.Errorf("%s: %w", t.names(), ErrNoRequests)
	}
	if s.scattered { // the tasks that were built are pieces
		return s, nil
	}
	if err := s.faults.orNil(); err != nil {
		return nil, err
	}
	if s.report.Tasks == 0 {
		return nil, fmt.Errorf("%s: %w: all %d rows were left out", t.names(), ErrNoRequests, s.rows)
	}
	return s, nil
}

// disordered is whether tasks have to be put together or brought in order.
func (s *survey[R]) disordered() bool { return s.scattered || s.unsorted }

// file checks the rows of one file.
func (s *survey[R]) file(in *Input) error {
	sum := sha256.New()
	w, err := newWalk(in, s.reader, s, true, sum)
	if err != nil {
		return err
	}
	defer w.close()
	lastMs, lastRelease := math.Inf(-1), math.Inf(-1)
	for {
		g, err := w.read()
		if err == io.EOF {
			in.checked(digestText(sum))
			return nil
		}
		if err != nil {
			return err
		}
		s.rows += len(g.rows)
		if ms := g.label.TimeMs; !math.IsNaN(ms) {
			if ms < lastMs {
				s.outOfOrder++
			}
			lastMs = ms
		}
		s.meet(&g.label)
		if release, ok := s.check(w); ok {
			s.unsorted = s.unsorted || release < lastRelease
			lastRelease = release
		}
	}
}

// meet notes a task that begins.
func (s *survey[R]) meet(l *Label) {
	if l.Task == "" {
		return
	}
	id := token.Identity(l.Task)
	if _, ok := s.tasks[id]; ok {
		s.scattered = true
	}
	s.tasks[id] = struct{}{}
}

// check builds the task of the group that w has read.
func (s *survey[R]) check(w *walk[R]) (release float64, ok bool) {
	s.task = Task{}
	if !s.add(&s.task, w.build(&s.task), &w.group) {
		return 0, false
	}
	return released(s.task.ReleaseMs), true
}

func (s *survey[R]) bad(f *Fault) error {
	s.rows++
	s.refused.add(f)
	return nil
}

func (s *survey[R]) left(reason string) error {
	s.rows++
	for i := range s.leftOut {
		if s.leftOut[i].Reason == reason {
			s.leftOut[i].Rows++
			return nil
		}
	}
	s.leftOut = append(s.leftOut, LeftOut{reason, 1})
	return nil
}

package trace

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Slice is n tasks of src, from the offset-th on. Tasks stay whole and keep their
// times. Closing the slice closes src.
func Slice(src Source, offset, n int) Source {
	return &slice{src: src, skip: offset, left: n}
}

type slice struct {
	src        Source
	skip, left int
}

func (s *slice) Next() (*Task, error) {
	for ; s.skip > 0; s.skip-- {
		if _, err := s.src.Next(); err != nil {
			return nil, err
		}
	}
	if s.left <= 0 {
		return nil, io.EOF
	}
	s.left--
	return s.src.Next()
}

func (s *slice) Close() error { return s.src.Close() }

// Between is the tasks of src that are released from fromMs on and before toMs.
// Tasks stay whole, also where they go on after toMs, and keep their times. A task
// without a time is an error. Closing it closes src.
func Between(src Source, fromMs, toMs float64) Source {
	return &between{src, fromMs, toMs}
}

type between struct {
	src      Source
	from, to float64
}

func (s *between) Next() (*Task, error) {
	for {
		t, err := s.src.Next()
		if err != nil {
			return nil, err
		}
		switch {
		case math.IsNaN(t.ReleaseMs):
			return nil, fmt.Errorf("task %s has no time, expected one to choose tasks by time", t.ID)
		case t.ReleaseMs >= s.to:
			return nil, io.EOF
		case t.ReleaseMs >= s.from:
			return t, nil
		}
	}
}

func (s *between) Close() error { return s.src.Close() }

// Until is src until ctx is cancelled; then it ends with ctx's error. Closing it
// closes src.
func Until(ctx context.Context, src Source) Source { return &until{src, ctx} }

type until struct {
	src Source
	ctx context.Context
}

func (s *until) Next() (*Task, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	return s.src.Next()
}

func (s *until) Close() error { return s.src.Close() }

// Redact is src without messages, arguments of tools and their results: a replay
// needs only ids and times. Closing it closes src.
func Redact(src Source) Source { return redacted{src} }

type redacted struct{ src Source }

func (s redacted) Next() (*Task, error) {
	t, err := s.src.Next()
	if err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		if d := t.Nodes[i].Details; d != nil {
			d.Messages, d.Args, d.Result = nil, nil, nil
		}
	}
	return t, nil
}

func (s redacted) Close() error { return s.src.Close() }

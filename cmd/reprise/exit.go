package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Exit codes (DESIGN.md 5).
const (
	succeeded   = 0
	failed      = 1   // the run failed
	refused     = 2   // bad command line, configuration or trace
	interrupted = 130 // as shells report a SIGINT
)

// failure is an error that is not a refusal.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail marks an error as one of the run, not of what it was given.
func fail(err error) error {
	if err == nil {
		return nil
	}
	return &failure{failed, err}
}

// noFile is the remark on a command that was stopped before it had a result.
const noFile = "interrupted: no file was written"

// errInterrupted ends a command that somebody stopped and that has told so.
var errInterrupted = &failure{interrupted, errors.New("interrupted")}

// report tells an error to a person and returns the exit code.
func report(err error, w io.Writer) int {
	var f *failure
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, errInterrupted):
		return interrupted
	case errors.Is(err, context.Canceled):
		remark(w, noFile)
		return interrupted
	case errors.As(err, &f):
		fmt.Fprintf(w, "reprise: %v\n", err)
		return f.code
	}
	fmt.Fprintf(w, "reprise: %v\n", err)
	return refused
}

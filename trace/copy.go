package trace

import (
	"errors"
	"io"
)

// Sink takes the tasks of a trace.
type Sink interface {
	// Write adds a task. It refuses one that the format cannot express.
	Write(t *Task) error
	// Close completes what is written; Abort drops it. One of them has to be called.
	Close() error
	Abort() error
}

// Copy writes the tasks that are left in src to dst and returns their number. It
// closes neither.
func Copy(dst Sink, src Source) (tasks int, err error) {
	for {
		t, err := src.Next()
		if err == io.EOF {
			return tasks, nil
		}
		if err != nil {
			return tasks, err
		}
		if err := dst.Write(t); err != nil {
			return tasks, err
		}
		tasks++
	}
}

// Save writes all of src to dst and closes both; dst is aborted if anything goes
// wrong.
func Save(dst Sink, src Source) (tasks int, err error) {
	tasks, err = Copy(dst, src)
	if err = errors.Join(err, src.Close()); err != nil {
		return tasks, errors.Join(err, dst.Abort())
	}
	return tasks, dst.Close()
}

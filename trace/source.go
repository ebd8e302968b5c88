package trace

import (
	"io"
	"sync"
)

// A batch of tasks is handed from the goroutine that parses to the one that reads.
const (
	batchTasks = 256
	batchBytes = 1 << 18
	batchAhead = 2 // batches that wait
)

// batch is tasks in order and what came behind them.
type batch struct {
	tasks []Task
	err   error
}

// Tasks starts a fresh pass over all tasks.
func (t *rowTrace[R]) Tasks() (Source, error) {
	s, err := t.stream()
	if err != nil {
		return nil, err
	}
	a := &ahead{batches: make(chan *batch, batchAhead), stop: make(chan struct{})}
	a.parsing.Go(func() { a.parse(s) })
	return a, nil
}

// ahead is a source whose tasks are parsed ahead, in a goroutine of its own.
type ahead struct {
	batches chan *batch
	stop    chan struct{}
	close   sync.Once
	parsing sync.WaitGroup
	batch   *batch
	next    int // task of the batch
}

// parse fills batches until the stream ends or the source is closed.
func (a *ahead) parse(s stream) {
	defer s.close()
	for {
		b := &batch{tasks: make([]Task, 0, batchTasks)}
		for from := s.consumed(); len(b.tasks) < batchTasks && s.consumed()-from < batchBytes; {
			n := len(b.tasks)
			b.tasks = b.tasks[:n+1]
			if b.err = s.next(&b.tasks[n]); b.err != nil {
				b.tasks = b.tasks[:n]
				break
			}
		}
		select {
		case a.batches <- b:
		case <-a.stop:
			return
		}
		if b.err != nil {
			return
		}
	}
}

// Next returns the next task.
func (a *ahead) Next() (*Task, error) {
	for {
		if a.batch == nil {
			select {
			case a.batch = <-a.batches:
			case <-a.stop:
				return nil, io.ErrClosedPipe
			}
		}
		if a.next < len(a.batch.tasks) {
			a.next++
			return &a.batch.tasks[a.next-1], nil
		}
		if a.batch.err != nil {
			return nil, a.batch.err
		}
		a.batch, a.next = nil, 0
	}
}

// Close ends the pass. It returns when the parsing goroutine has ended.
func (a *ahead) Close() error {
	a.close.Do(func() { close(a.stop) })
	a.parsing.Wait()
	return nil
}

package serve

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/workload"
)

// ErrStopped is what a backend answers that does not run any more.
var ErrStopped = errors.New("the simulated cluster has stopped")

// Listener is told about the tokens of all calls, in the goroutine of Run.
type Listener interface {
	// Tokens is called when a call has more tokens, with their times; lastMs is that of
	// the one before them, NaN if there is none.
	Tokens(row *metrics.Row, tokenMs []float64, lastMs float64)
	// Ended is called when a call has ended, with the reason why its answer ends. The row
	// must not be kept.
	Ended(row *metrics.Row, finish string)
	// Settled is called when everything has been told that happened so far.
	Settled()
}

// Backend lets a simulated service live on the wall clock. One goroutine, that of Run,
// owns it; all other methods may be called from anywhere while it runs.
type Backend struct {
	stepper  *simulate.Stepper
	clock    clock
	asks     chan func() error // run by the owner, at its present
	stopped  chan struct{}
	tickets  map[int32]*Ticket
	listener Listener
}

// NewBackend is a backend whose time runs speed times as fast as that of the wall, from
// Run on; speed 0 does not wait for anything that the simulation says when it is.
// stepper is given the function that it tells news to.
func NewBackend(speed float64, stepper func(hear func(simulate.News)) *simulate.Stepper) *Backend {
	b := &Backend{
		clock: clock{speed: speed}, tickets: map[int32]*Ticket{}, listener: nobody{},
		asks: make(chan func() error), stopped: make(chan struct{}),
	}
	b.stepper = stepper(b.hear)
	return b
}

// nobody listens.
type nobody struct{}

func (nobody) Tokens(*metrics.Row, []float64, float64) {}
func (nobody) Settled()                                {}
func (nobody) Ended(*metrics.Row, string)              {}

// Run serves until ctx is cancelled or something goes wrong. Calls that are open then
// end as unfinished.
func (b *Backend) Run(ctx context.Context) (simulate.End, error) {
	b.clock.began = time.Now()
	err := b.loop(ctx)
	close(b.stopped)
	end, also := b.stepper.Close(workload.Interrupted)
	for _, t := range b.tickets {
		t.stop()
	}
	return end, errors.Join(err, also)
}

func (b *Backend) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := b.stepper.NextMs()
		var due <-chan time.Time
		if wait := b.clock.wait(next); wait >= 0 {
			timer.Reset(wait)
			due = timer.C
		}
		var ask func() error
		select {
		case <-ctx.Done():
			return nil
		case ask = <-b.asks:
			next = b.stepper.NowMs()
		case <-due:
		}
		if err := b.instant(b.clock.nowMs(next), ask); err != nil {
			return err
		}
	}
}

// instant plays an instant with all that is asked now.
func (b *Backend) instant(nowMs float64, ask func() error) error {
	if err := b.stepper.Advance(nowMs); err != nil {
		return err
	}
	for ask != nil {
		if err := ask(); err != nil {
			return err
		}
		select {
		case ask = <-b.asks:
		default:
			ask = nil
		}
	}
	if err := b.stepper.Decide(); err != nil {
		return err
	}
	b.listener.Settled()
	return nil
}

// do lets the owner run f.
func (b *Backend) do(f func() error) error {
	done := make(chan struct{})
	ask := func() error {
		defer close(done)
		return f()
	}
	select {
	case b.asks <- ask:
	case <-b.stopped:
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-b.stopped: // something went wrong before its turn
		return ErrStopped
	}
}

// Submit hands a call over; it arrives now. finish is why its answer will end.
func (b *Backend) Submit(o *simulate.Offer, finish string) (*Ticket, error) {
	t := newTicket(finish)
	return t, b.do(func() (err error) {
		t.row, err = b.stepper.Submit(o)
		b.tickets[t.row] = t
		return err
	})
}

// Cancel ends a call whose client went away.
func (b *Backend) Cancel(t *Ticket) {
	b.do(func() error { // if it has stopped, the call has ended
		delete(b.tickets, t.row)
		return b.stepper.Cancel(t.row)
	})
}

// Look calls visit for all instances as they are now.
func (b *Backend) Look(visit func(in *cluster.Instance, nowMs float64)) error {
	return b.do(func() error {
		for _, in := range b.stepper.Instances() {
			visit(in, b.stepper.NowMs())
		}
		return nil
	})
}

// hear passes news on.
func (b *Backend) hear(n simulate.News) {
	t, ok := b.tickets[n.Row]
	if !ok {
		return
	}
	if len(n.TokenMs) > 0 {
		b.listener.Tokens(n.State, n.TokenMs, t.lastMs)
		t.lastMs = n.TokenMs[len(n.TokenMs)-1]
	}
	t.tell(&n)
	if n.State.Status != metrics.Open {
		b.listener.Ended(n.State, t.finish)
		delete(b.tickets, n.Row)
	}
}

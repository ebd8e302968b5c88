package serve

import (
	"context"
	"math"
	"sync"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/simulate"
)

// Ticket is a call in the cluster, for the goroutine that waits for it.
type Ticket struct {
	row    int32
	finish string
	lastMs float64       // time of the last token, NaN before the first; for the owner of the cluster
	wake   chan struct{} // holds something if there is news

	mu    sync.Mutex
	state State
}

// State is how a call stands.
type State struct {
	Tokens int   // output tokens so far
	Cached int32 // tokens of the prompt that came from the cache
	Status metrics.Status
	Reason string // why it did not end as it should, or not in full
	Times  Times  // known when it has ended
}

// Times are the parts of a call's life, ms of simulated time; NaN is what did not
// happen.
type Times struct{ QueueMs, PrefillMs, DecodeMs, MeanITLMs float64 }

func newTicket(finish string) *Ticket {
	return &Ticket{finish: finish, lastMs: math.NaN(), wake: make(chan struct{}, 1)}
}

// Wait waits until the call has more than seen tokens or has ended.
func (t *Ticket) Wait(ctx context.Context, seen int) (State, error) {
	for {
		t.mu.Lock()
		s := t.state
		t.mu.Unlock()
		if s.Tokens > seen || s.Status != metrics.Open {
			return s, nil
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// End waits until the call has ended.
func (t *Ticket) End(ctx context.Context) (State, error) {
	for seen := 0; ; {
		s, err := t.Wait(ctx, seen)
		if err != nil || s.Status != metrics.Open {
			return s, err
		}
		seen = s.Tokens
	}
}

// tell takes in news.
func (t *Ticket) tell(n *simulate.News) {
	t.change(func(s *State) {
		s.Tokens += len(n.TokenMs)
		s.Cached, s.Status, s.Reason = n.State.CachedTokens, n.State.Status, n.State.Reason
		if s.Status != metrics.Open {
			r := n.State
			s.Times = Times{r.QueueMs(), r.PrefillMs(), r.LastMs - r.FirstMs, r.TPOTMs()}
		}
	})
}

// stop ends a call that is open because the cluster has stopped.
func (t *Ticket) stop() {
	t.change(func(s *State) { s.Status, s.Reason = metrics.Unfinished, metrics.Interrupted })
}

func (t *Ticket) change(f func(s *State)) {
	t.mu.Lock()
	f(&t.state)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/workload"
)

// Offer is a call as a [Stepper] takes it.
type Offer struct {
	Label     metrics.Label // Request must be unique
	Prompt    *token.Seq    // known content
	Output    *token.Seq    // the tokens that it will generate
	MaxTokens int32
	Priority  int32
}

// News is what has become of an offer. TokenMs are the times of output tokens that
// have not been told before; it must not be kept, nor must Row.
type News struct {
	Row     int32
	TokenMs []float64
	State   *metrics.Row // as it stands: ended, if its Status says so
}

// Stepper is the loop with its clock and its arrivals outside. An instant t is played
// by Advance(t), any number of Submit and Cancel, and Decide; times do not go back.
// The same offers at the same times have the tokens at the same times as in a [Loop].
//
// It is for one goroutine.
type Stepper struct {
	loop Loop
	hear func(News)
	open []offered // in order of rows
	runs map[int32]cluster.Run
	ms   []float64
}

// offered is an offer that has not ended.
type offered struct {
	row  int32
	told int // tokens
}

// NewStepper is a stepper at time 0 over idle instances. The ledger has to keep token
// times. observer is told what has ended, and samples each sampleMs (0: none); hear is
// told news of offers, in the course of Advance and Decide.
func NewStepper(s cluster.Service, l *metrics.Ledger, observer Observer, sampleMs float64, hear func(News)) *Stepper {
	if !l.KeepTokens {
		panic("simulate: a stepper tells token times, its ledger has to keep them")
	}
	s.Relax(false)
	for _, in := range s.Instances() {
		in.Listen()
	}
	return &Stepper{
		loop: Loop{Service: s, Ledger: l, Observer: observer, SampleMs: sampleMs, CapMs: math.Inf(1)},
		hear: hear, runs: map[int32]cluster.Run{},
	}
}

// NowMs is the instant that is being played.
func (s *Stepper) NowMs() float64 { return s.loop.nowMs }

// NextMs is when something happens next, +Inf if never. The decisions of the present
// instant must have been made.
func (s *Stepper) NextMs() float64 { return s.loop.Service.NextMs() }

// Advance plays all instants before toMs and lets end what ends at toMs.
func (s *Stepper) Advance(toMs float64) error {
	l := &s.loop
	rounds := 0
	for {
		t := max(l.nowMs, l.Service.NextMs())
		if t >= toMs {
			break
		}
		if rounds++; t > l.nowMs {
			rounds = 0
		}
		if err := s.settle(t, rounds); err != nil {
			return err
		}
		if err := s.at(l.Service.Start(t)); err != nil {
			return err
		}
	}
	if err := s.settle(toMs, 0); err != nil {
		return err
	}
	return s.tell()
}

// Decide makes the decisions of the present instant.
func (s *Stepper) Decide() error {
	l := &s.loop
	for rounds := 0; ; rounds++ {
		if err := s.at(l.Service.Start(l.nowMs)); err != nil {
			return err
		}
		if l.Service.NextMs() > l.nowMs {
			return s.tell()
		}
		if err := s.settle(l.nowMs, rounds); err != nil {
			return err
		}
	}
}

// settle lets end what ends at t. rounds is how often it was asked to at t before.
func (s *Stepper) settle(t float64, rounds int) error {
	l := &s.loop
	if rounds > roundsAtOneInstant {
		return fmt.Errorf("at %v ms: no progress: %d rounds at one instant", t, rounds)
	}
	if t > l.nowMs {
		if err := l.samples(math.Nextafter(t, math.Inf(-1))); err != nil {
			return err
		}
		l.nowMs = t
	}
	return s.at(l.Service.Settle(t, s.ended))
}

// at says when an error happened.
func (s *Stepper) at(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("at %v ms: %w", s.loop.nowMs, err)
}

// Submit offers a call that arrives now and returns the number that its news have.
func (s *Stepper) Submit(o *Offer) (row int32, err error) {
	l := &s.loop
	input := int32(o.Prompt.Len())
	row = l.Ledger.Open(o.Label, l.nowMs, input, o.MaxTokens)
	s.open = append(s.open, offered{row: row})
	l.routed = routing.Request{
		Row: row, InputTokens: input, Prompt: o.Prompt, Rank: -1,
		Session: cmp.Or(o.Label.Session, o.Label.Request),
	}
	l.request = engine.Request{
		Row: row, ID: o.Label.Request, Prompt: o.Prompt, Output: o.Output,
		InputTokens: input, MaxTokens: o.MaxTokens, Priority: o.Priority, Arrival: float64(row),
	}
	return row, s.at(l.Service.Place(&l.routed, &l.request, l.nowMs))
}

// Cancel ends an offer now: its client went away. It does nothing if the offer has
// ended; there will be no news of it.
func (s *Stepper) Cancel(row int32) error {
	i, ok := s.find(row)
	if !ok {
		return nil
	}
	s.open = slices.Delete(s.open, i, i+1)
	return s.at(s.loop.Service.Cancel(row, metrics.Cancelled, metrics.ClientCancelled, s.loop.nowMs))
}

// Open is the number of offers that have not ended.
func (s *Stepper) Open() int { return len(s.open) }

// Instances are all instances, for those who look at them at NowMs.
func (s *Stepper) Instances() []*cluster.Instance { return s.loop.Service.Instances() }

// Close ends the run now. Offers that are open end as unfinished, for that reason.
func (s *Stepper) Close(reason workload.Reason) (End, error) {
	end := End{ClockMs: s.loop.nowMs}
	if len(s.open) == 0 {
		return end, s.loop.close("")
	}
	end.Reason = reason
	s.open = nil
	return end, s.loop.abandon(reason, s.loop.nowMs)
}

func (s *Stepper) find(row int32) (i int, ok bool) {
	return slices.BinarySearchFunc(s.open, row, func(o offered, row int32) int { return cmp.Compare(o.row, row) })
}

// ended tells that an offer has ended, with the tokens that have not been told.
func (s *Stepper) ended(e cluster.Ended) {
	i, ok := s.find(e.Row)
	if !ok { // cancelled
		return
	}
	told := s.open[i].told
	s.open = slices.Delete(s.open, i, i+1)
	row := s.loop.Ledger.Row(e.Row)
	s.hear(News{Row: e.Row, TokenMs: row.TokenMs[told:], State: row})
}

// tell tells the tokens that have come, and the observer what has ended.
func (s *Stepper) tell() error {
	clear(s.runs)
	for _, in := range s.Instances() {
		in.OpenRuns(s.runs)
	}
	for i := range s.open {
		o := &s.open[i]
		row := s.loop.Ledger.Row(o.row)
		in, ok := s.instance(row)
		if !ok {
			continue
		}
		s.ms = in.TokenMs(s.ms[:0], o.row, s.runs[o.row], o.told)
		if len(s.ms) > 0 {
			o.told += len(s.ms)
			s.hear(News{Row: o.row, TokenMs: s.ms, State: row})
		}
	}
	return s.loop.handOut(false)
}

// instance is where a request is, if it has reached one.
func (s *Stepper) instance(row *metrics.Row) (*cluster.Instance, bool) {
	instances := s.Instances() // by (bucket, instance)
	i, ok := slices.BinarySearchFunc(instances, row, func(in *cluster.Instance, r *metrics.Row) int {
		return cmp.Or(cmp.Compare(in.Bucket(), r.Bucket), cmp.Compare(in.ID(), r.Instance))
	})
	if !ok {
		return nil, false
	}
	return instances[i], true
}

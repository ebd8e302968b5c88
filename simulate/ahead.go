package simulate

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/workload"
)

const (
	// callsAhead is how many calls are placed before the instances are advanced.
	callsAhead = 8192
	// drainMs is how far the instances run on between two looks when all calls
	// have been placed.
	drainMs = 60_000
)

// ahead places calls ahead of time and lets the instances run on between, in
// parallel. It is for calls that nobody waits for and placements that look at
// nothing: then instances never meet.
func (l *Loop) ahead(ctx context.Context) (workload.Reason, error) {
	s := newSamplers(len(l.Service.Instances()), l.SampleMs)
	for {
		placed, err := l.placeAhead()
		if err != nil {
			return "", err
		}
		if !placed {
			break
		}
		if err := l.advance(s, l.nowMs); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return workload.Interrupted, nil
		}
	}
	untilMs := l.nowMs
	for l.busy() && untilMs < l.CapMs {
		untilMs = min(untilMs+drainMs, l.CapMs)
		if err := l.advance(s, untilMs); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			l.nowMs = untilMs
			return workload.Interrupted, nil
		}
	}
	if l.busy() || !math.IsInf(l.Driver.Next(), 1) {
		return workload.TimeCap, l.stopAt(s, l.CapMs)
	}
	return "", l.passOn(s, l.nowMs)
}

// placeAhead places the next calls, each as of its own arrival. It is false if
// there are none that arrive by the cap.
func (l *Loop) placeAhead() (bool, error) {
	placed := 0
	for placed < callsAhead {
		t := max(l.nowMs, l.Driver.Next())
		if t > l.CapMs || math.IsInf(t, 1) {
			break
		}
		l.nowMs = t
		l.calls = l.Driver.Release(t, l.calls[:0])
		for i := range l.calls {
			if err := l.place(&l.calls[i], t); err != nil {
				return false, err
			}
		}
		placed += len(l.calls)
	}
	return placed > 0, nil
}

// advance lets all instances run up to untilMs and passes on what is complete.
func (l *Loop) advance(s *samplers, untilMs float64) error {
	err := l.each(func(i int, in *cluster.Instance) error {
		if err := s.sample(i, in, untilMs); err != nil {
			return err
		}
		return in.AdvanceTo(untilMs)
	})
	if err != nil {
		return err
	}
	for _, in := range l.Service.Instances() {
		l.nowMs = max(l.nowMs, in.NowMs())
		in.Ended(func(cluster.Ended) {}) // nobody waits for it
	}
	if err := l.passOn(s, l.nowMs); err != nil {
		return err
	}
	return l.handOut(false)
}

// stopAt brings all instances to the end of the instant atMs.
func (l *Loop) stopAt(s *samplers, atMs float64) error {
	err := l.each(func(i int, in *cluster.Instance) error {
		if err := s.sample(i, in, atMs); err != nil {
			return err
		}
		return in.Finish(atMs)
	})
	if err != nil {
		return err
	}
	if err := l.passOn(s, math.Nextafter(atMs, math.Inf(-1))); err != nil {
		return err
	}
	return l.samples(atMs)
}

// each calls f for all instances, several at a time.
func (l *Loop) each(f func(i int, in *cluster.Instance) error) error {
	instances := l.Service.Instances()
	errs := make([]error, len(instances))
	var next atomic.Int32
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(instances); i = int(next.Add(1)) - 1 {
			errs[i] = f(i, instances[i])
		}
	}
	var wg sync.WaitGroup
	for range min(l.Workers, len(instances)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// busy is whether some instance will do something by itself.
func (l *Loop) busy() bool {
	for _, in := range l.Service.Instances() {
		if !math.IsInf(in.NextMs(), 1) {
			return true
		}
	}
	return false
}

// passOn tells the observer the samples up to untilMs, in order of time. Later
// ones are kept: the run may have ended before them.
func (l *Loop) passOn(s *samplers, untilMs float64) error {
	first := l.sample
	for ; l.sampleDue(untilMs) && s.have(l.sample-first); l.sample++ {
		for i := range s.taken {
			if err := l.Observer.Sample(s.taken[i][l.sample-first]); err != nil {
				return err
			}
		}
	}
	s.drop(l.sample - first)
	return nil
}

// samplers take the samples of instances that run ahead, each at its own pace.
type samplers struct {
	everyMs float64
	taken   [][]metrics.Sample // by instance, not yet passed on
	count   []int              // samples ever taken, by instance
}

func newSamplers(n int, everyMs float64) *samplers {
	return &samplers{everyMs: everyMs, taken: make([][]metrics.Sample, n), count: make([]int, n)}
}

// sample takes the samples of instance i at times before untilMs.
func (s *samplers) sample(i int, in *cluster.Instance, untilMs float64) error {
	for s.everyMs > 0 {
		t := float64(s.count[i]) * s.everyMs
		if t >= untilMs {
			break
		}
		taken, err := in.Sample(t)
		if err != nil {
			return err
		}
		s.taken[i] = append(s.taken[i], taken)
		s.count[i]++
	}
	return nil
}

// have is whether the n-th kept sample is there for all instances.
func (s *samplers) have(n int) bool {
	for _, taken := range s.taken {
		if len(taken) <= n {
			return false
		}
	}
	return true
}

// drop forgets the first n kept samples of all instances.
func (s *samplers) drop(n int) {
	for i, taken := range s.taken {
		s.taken[i] = append(taken[:0], taken[n:]...)
	}
}

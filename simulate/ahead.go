package simulate

import (
	"cmp"
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
	// passesAhead is about how many passes the instances run between two rounds of
	// handing out what is complete.
	passesAhead = 1 << 16
	// samplesAhead is how many samples of all instances a window may hold.
	samplesAhead = 1 << 16
)

// ahead places calls ahead of time and lets the instances run on between, in
// parallel. It is for calls that nobody waits for and placements that look at
// nothing: then instances never meet.
func (l *Loop) ahead(ctx context.Context) (workload.Reason, error) {
	a := newAdvance(l)
	for {
		placed, err := l.placeAhead()
		if err != nil {
			return "", err
		}
		if !placed {
			break
		}
		if err := a.to(l.nowMs); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return workload.Interrupted, nil
		}
	}
	for l.busy() && a.nowMs < l.CapMs {
		if err := a.to(min(a.nowMs+a.windowMs, l.CapMs)); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			l.nowMs = a.nowMs
			return workload.Interrupted, nil
		}
	}
	if a.nowMs == l.CapMs {
		if err := a.finish(); err != nil {
			return "", err
		}
	}
	if l.busy() || !math.IsInf(l.Driver.Next(), 1) {
		if err := a.passOn(math.Nextafter(l.CapMs, 0)); err != nil {
			return "", err
		}
		return workload.TimeCap, l.samples(l.CapMs)
	}
	if err := a.passOn(l.nowMs); err != nil {
		return "", err
	}
	if err := l.handOut(false); err != nil {
		return "", err
	}
	return "", l.checkDrained()
}

// placeAhead places the next calls, each as of its own arrival. It is false if
// there are none that arrive by the cap.
func (l *Loop) placeAhead() (bool, error) {
	placed := 0
	for placed < cmp.Or(l.batch, callsAhead) {
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

// advance lets all instances run ahead, in windows of time, and passes on what is
// complete after each. How wide a window is changes nothing but the cost.
type advance struct {
	loop     *Loop
	samplers *samplers
	nowMs    float64 // all instances have been advanced to here
	windowMs float64
	widestMs float64
	passes   int64 // decided so far
}

func newAdvance(l *Loop) *advance {
	instances := len(l.Service.Instances())
	a := &advance{loop: l, samplers: newSamplers(instances, l.SampleMs), widestMs: math.Inf(1)}
	if l.SampleMs > 0 {
		a.widestMs = l.SampleMs * float64(max(1, samplesAhead/instances))
	}
	a.windowMs = min(1000, a.widestMs)
	return a
}

// to advances all instances to untilMs.
func (a *advance) to(untilMs float64) error {
	for a.nowMs < untilMs {
		if err := a.window(min(a.nowMs+a.windowMs, untilMs)); err != nil {
			return err
		}
	}
	return nil
}

// window advances all instances to untilMs at once.
func (a *advance) window(untilMs float64) error {
	l := a.loop
	err := l.each(func(i int, in *cluster.Instance) error {
		if err := a.samplers.sample(i, in, untilMs); err != nil {
			return err
		}
		return in.AdvanceTo(untilMs)
	})
	if err != nil {
		return err
	}
	before := a.passes
	a.nowMs, a.passes = untilMs, 0
	for _, in := range l.Service.Instances() {
		l.nowMs = max(l.nowMs, in.NowMs())
		a.passes += in.Use().Passes
		in.Ended(func(cluster.Ended) {}) // nobody waits for it
	}
	switch done := a.passes - before; {
	case done > 2*passesAhead:
		a.windowMs /= 2
	case done < passesAhead/2:
		a.windowMs = min(2*a.windowMs, a.widestMs)
	}
	if err := a.passOn(min(l.nowMs, math.Nextafter(untilMs, 0))); err != nil {
		return err
	}
	return l.handOut(false)
}

// finish brings all instances to the end of the instant to which they have been
// advanced.
func (a *advance) finish() error {
	l := a.loop
	err := l.each(func(_ int, in *cluster.Instance) error { return in.Finish(a.nowMs) })
	for _, in := range l.Service.Instances() {
		l.nowMs = max(l.nowMs, in.NowMs())
		in.Ended(func(cluster.Ended) {})
	}
	return err
}

// passOn tells the observer the samples up to untilMs, in order of time. Later
// ones are kept: the run may have ended before them.
func (a *advance) passOn(untilMs float64) error {
	l := a.loop
	first := l.sample
	for ; l.sampleDue(untilMs); l.sample++ {
		for i, in := range l.Service.Instances() {
			s, err := a.samplers.get(i, in, l.sample-first)
			if err == nil {
				err = l.Observer.Sample(s)
			}
			if err != nil {
				return err
			}
		}
	}
	a.samplers.drop(l.sample - first)
	return nil
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
		if !in.Idle() {
			return true
		}
	}
	return false
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

// sample takes the samples of instance i at times before untilMs. It stops when
// nothing will happen to the instance any more: see get.
func (s *samplers) sample(i int, in *cluster.Instance, untilMs float64) error {
	for s.everyMs > 0 && !in.Idle() && float64(s.count[i])*s.everyMs < untilMs {
		if err := s.one(i, in); err != nil {
			return err
		}
	}
	return nil
}

// one takes the next sample of instance i.
func (s *samplers) one(i int, in *cluster.Instance) error {
	taken, err := in.Sample(float64(s.count[i]) * s.everyMs)
	s.taken[i] = append(s.taken[i], taken)
	s.count[i]++
	return err
}

// get is the n-th sample of instance i that has not been passed on. If it has not
// been taken, the instance is idle and can still be looked at then.
func (s *samplers) get(i int, in *cluster.Instance, n int) (metrics.Sample, error) {
	if n == len(s.taken[i]) {
		if err := s.one(i, in); err != nil {
			return metrics.Sample{}, err
		}
	}
	return s.taken[i][n], nil
}

// drop forgets the first n kept samples of all instances.
func (s *samplers) drop(n int) {
	for i, taken := range s.taken {
		s.taken[i] = append(taken[:0], taken[n:]...)
	}
}

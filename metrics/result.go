package metrics

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/metrics/column"
)

// Run is what a [Tally] has to know of a run that has ended.
type Run struct {
	LatencyModel string
	InTrace      int64            // requests of the trace that the run was given
	NotReleased  map[Reason]int64 // those that were not offered
	Uses         []Use            // of all instances, in order of (bucket, instance)
	PrefillFleet Fleet
	DecodeFleet  Fleet
}

// Use is what one instance did.
type Use struct {
	Bucket, Instance int32
	Passes           int64
	BusyMs           float64 // sum of its passes
	Gaps             *Gaps   // nil: none
}

// Summary ends the tally. All rows must have been added; gaps that were not taken
// yet are taken.
func (t *Tally) Summary(run Run) (*Summary, error) {
	for _, u := range run.Uses {
		if u.Gaps != nil {
			t.Take(u.Bucket, u.Gaps)
		}
	}
	if t.err != nil {
		return nil, t.err
	}
	s := &Summary{
		LatencyModel: run.LatencyModel,
		PrefillFleet: run.PrefillFleet,
		DecodeFleet:  run.DecodeFleet,
		Preemptions:  t.preemptions,
		PerBucket:    []BucketSummary{},
		PerInstance:  []InstanceSummary{},
	}
	if err := t.close(&s.Accounting, run); err != nil {
		return nil, err
	}
	t.throughput(s)
	if err := t.parts(s, run.Uses); err != nil {
		return nil, err
	}
	return s, t.latencies(s, run.Uses)
}

// close completes the accounting.
func (t *Tally) close(a *Accounting, run Run) error {
	*a = t.all
	a.InTrace = run.InTrace
	for why, n := range run.NotReleased {
		if _, ok := Code(why); !ok {
			return fmt.Errorf("requests not released: reason %q: want one of %q", why, reasons)
		}
		a.NotReleased += n
		a.because(notReleased, why, n)
	}
	if a.InTrace != a.Offered+a.NotReleased {
		return fmt.Errorf("accounting: %d requests in the trace, but %d offered and %d not released", a.InTrace, a.Offered, a.NotReleased)
	}
	return nil
}

// throughput fills in the totals of completed requests.
func (t *Tally) throughput(s *Summary) {
	for _, g := range t.groups {
		c := g.total()
		s.InputTokens += c.inputTokens
		s.OutputTokens += c.outputTokens
	}
	completed := float64(s.Accounting.Completed)
	s.DurationMs = t.lastEndMs
	if completed == 0 {
		s.DurationMs = math.NaN()
	}
	seconds := s.DurationMs / 1000
	s.RequestRate = ratio(completed, seconds)
	s.InputRate = ratio(float64(s.InputTokens), seconds)
	s.OutputRate = ratio(float64(s.OutputTokens), seconds)
	s.TotalRate = ratio(float64(s.InputTokens+s.OutputTokens), seconds)
	s.ReuseRatio = ratio(float64(t.cachedMost), float64(s.InputTokens))
	s.FirstReuse = ratio(float64(t.cachedFirst), float64(s.InputTokens))
	if t.setup.SLA != nil {
		s.Goodput = &Goodput{*t.setup.SLA, t.good, ratio(float64(t.good), seconds), ratio(float64(t.goodTokens), seconds)}
	}
}

// ratio is a/b; NaN if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// latencies fills in the distributions over all buckets.
func (t *Tally) latencies(s *Summary, uses []Use) (err error) {
	if len(t.groups) == 1 {
		s.Latencies = s.PerBucket[0].Latencies
		return nil
	}
	s.Latencies, err = latencies(t.groups, t.sums, momentsOf(uses, func(Use) bool { return true }))
	return err
}

// latencies describes the samples of some groups.
func latencies(groups []*group, sums [figures]float64, gaps gapMoments) (l Latencies, err error) {
	into := [figures]*Distribution{ttft: &l.TTFT, ttst: &l.TTST, tpot: &l.TPOT, e2e: &l.E2E}
	columns := make([]*column.Column, len(groups))
	for m, d := range into {
		for i, g := range groups {
			columns[i] = g.columns[m]
		}
		if *d, err = describe(sums[m], columns); err != nil {
			return l, err
		}
	}
	for i, g := range groups {
		columns[i] = g.gaps
	}
	l.ITL, l.Rate, err = describeGaps(gaps, columns)
	return l, err
}

// momentsOf merges the gaps of some instances, in order.
func momentsOf(uses []Use, which func(Use) bool) (m gapMoments) {
	for _, u := range uses {
		if u.Gaps != nil && which(u) {
			m.merge(gapMoments{u.Gaps.Moments(), u.Gaps.Rates()})
		}
	}
	return m
}

// parts fills in the figures of buckets and instances, and what follows from
// those of buckets.
func (t *Tally) parts(s *Summary, uses []Use) error {
	var saturated []Saturation
	for i, g := range t.groups {
		b, err := t.bucket(i, g, uses, s.DurationMs)
		if err != nil {
			return err
		}
		s.PerBucket = append(s.PerBucket, b)
		saturated = append(saturated, b.Saturation)
	}
	s.Saturation = worst(t.setup.Buckets, saturated)
	placed := int64(0)
	for _, u := range uses {
		c := t.groups[u.Bucket].of(u.Instance)
		placed += c.requests
		s.PerInstance = append(s.PerInstance, InstanceSummary{
			Bucket: t.setup.Buckets[u.Bucket], Instance: int(u.Instance),
			Requests: c.requests, Completed: c.completed,
			InputTokens: c.inputTokens, OutputTokens: c.outputTokens,
			Preemptions: c.preemptions, MeanTTFTMs: ratio(c.ttftSum, float64(c.ttfts)),
			Passes: u.Passes, BusyMs: u.BusyMs, BusyShare: ratio(u.BusyMs, s.DurationMs),
		})
	}
	if placed != t.placed {
		return fmt.Errorf("%d requests were sent to instances, %d of them to those that the run lists", t.placed, placed)
	}
	return nil
}

// bucket is the figures of one bucket.
func (t *Tally) bucket(i int, g *group, uses []Use, durationMs float64) (b BucketSummary, err error) {
	c := g.total()
	b = BucketSummary{
		Bucket: i, Name: t.setup.Buckets[i],
		Requests: c.requests, Completed: c.completed, Rejected: c.rejected,
		InputTokens: c.inputTokens, OutputTokens: c.outputTokens, Preemptions: c.preemptions,
		L0Blocks: g.tiers.l0, L1Blocks: g.tiers.l1, RemoteBlocks: g.tiers.remote, MissBlocks: g.tiers.miss,
		RemoteStaleBlocks: g.tiers.stale, LoadWaitMs: g.tiers.loadWaitMs,
		LengthMatchRate: ratio(float64(g.atHome), float64(g.homes)),
		Saturation:      unsaid("closed loop: arrivals wait for completions"),
	}
	if !t.setup.ClosedLoop {
		b.Saturation = g.queue.judge()
	}
	mine := func(u Use) bool { return int(u.Bucket) == i }
	for _, u := range uses {
		if mine(u) {
			b.Instances++
			b.Passes += u.Passes
			b.BusyMs += u.BusyMs
		}
	}
	b.Utilisation = ratio(b.BusyMs, float64(b.Instances)*durationMs)
	b.Latencies, err = latencies([]*group{g}, g.sums, momentsOf(uses, mine))
	return b, err
}

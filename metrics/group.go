package metrics

import (
	"math"

	"github.com/reprise-sim/reprise/metrics/column"
)

// The figures of which every completed request is at most one sample.
const (
	ttft = iota
	ttst
	tpot
	e2e
	figures // how many there are
)

// samplesOf is a completed row's sample of each figure, NaN if it has none. What a
// clock that was set back makes negative counts as 0 (spec/replay.md 6.2).
func samplesOf(r *Row) [figures]float64 {
	return [...]float64{
		ttft: max(0, r.TTFTMs()),
		ttst: max(0, r.TTSTMs()),
		tpot: max(0, r.TPOTMs()),
		e2e:  max(0, r.E2EMs()),
	}
}

// group is what was seen of the requests of one bucket.
type group struct {
	columns   [figures]*column.Column
	sums      [figures]float64 // of the columns, in order of rows
	gaps      *column.Column
	queue     backlog
	instances []counts // by instance
	nowhere   counts   // sent to the bucket, but to none of its instances

	tiers         tierSums
	homes, atHome int64
}

// counts are the figures of one instance.
type counts struct {
	requests, completed, rejected int64
	inputTokens, outputTokens     int64 // of completed requests
	preemptions                   int64
	ttftSum                       float64
	ttfts                         int64
}

// tierSums adds up where blocks came from; NaN until a row knows.
type tierSums struct{ l0, l1, remote, miss, stale, loadWaitMs float64 }

func newGroup(s *column.Spill) *group {
	nan := math.NaN()
	g := &group{gaps: column.New(s), tiers: tierSums{nan, nan, nan, nan, nan, nan}}
	for m := range g.columns {
		g.columns[m] = column.New(s)
	}
	return g
}

// of is the counts of an instance.
func (g *group) of(instance int32) *counts {
	if instance < 0 {
		return &g.nowhere
	}
	for int(instance) >= len(g.instances) {
		g.instances = append(g.instances, counts{})
	}
	return &g.instances[instance]
}

// count counts a row.
func (g *group) count(r *Row) {
	c := g.of(r.Instance)
	c.requests++
	c.preemptions += int64(r.Preemptions)
	if r.Status == Rejected {
		c.rejected++
	} else {
		g.queue.add(r)
	}
	g.tiers.add(&r.Tiers)
	if r.Tiers.LengthMatch != NoHome {
		g.homes++
	}
	if r.Tiers.LengthMatch == Matched {
		g.atHome++
	}
}

// complete counts a completed row and keeps its samples.
func (g *group) complete(r *Row, samples [figures]float64) error {
	c := g.of(r.Instance)
	c.completed++
	c.inputTokens += int64(r.InputTokens)
	c.outputTokens += int64(r.OutputTokens)
	if !math.IsNaN(samples[ttft]) {
		c.ttfts++
		c.ttftSum += samples[ttft]
	}
	for m, v := range samples {
		if math.IsNaN(v) {
			continue
		}
		g.sums[m] += v
		if err := g.columns[m].Add(v); err != nil {
			return err
		}
	}
	return nil
}

// total is the counts of all instances together.
func (g *group) total() counts {
	sum := g.nowhere
	for _, c := range g.instances {
		sum.requests += c.requests
		sum.completed += c.completed
		sum.rejected += c.rejected
		sum.inputTokens += c.inputTokens
		sum.outputTokens += c.outputTokens
		sum.preemptions += c.preemptions
	}
	return sum
}

// add adds what a row knows.
func (s *tierSums) add(t *Tiers) {
	known(&s.l0, t.L0)
	known(&s.l1, t.L1)
	known(&s.remote, t.Remote)
	known(&s.miss, t.Miss)
	known(&s.stale, t.RemoteStale)
	if !math.IsNaN(t.LoadWaitMs) {
		plus(&s.loadWaitMs, t.LoadWaitMs)
	}
}

// known adds a count that is not -1.
func known(sum *float64, n int32) {
	if n >= 0 {
		plus(sum, float64(n))
	}
}

// plus adds to a sum that is NaN while nothing was added.
func plus(sum *float64, v float64) {
	if math.IsNaN(*sum) {
		*sum = 0
	}
	*sum += v
}

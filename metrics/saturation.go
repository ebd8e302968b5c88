package metrics

import (
	"fmt"
	"math"
)

// SaturationRule is how [Saturation] is judged, for people who read the result.
const SaturationRule = "the queue (requests that have arrived and have neither a token nor ended), averaged over each quarter of the time " +
	"from the first to the last arrival, grows from the second to the third and to the fourth, in all by at least " +
	"5 % of the requests that arrive between their middles and by at least twice the square root of their number"

// Saturation is whether more load was offered than the fleet could serve.
type Saturation struct {
	State  *bool   // nil: it cannot be said
	Reason string  // what was found, or why it cannot be said
	Growth float64 // share of the later arrivals by which the queue grew; NaN if State is nil
}

// backlog follows the queue of a group of requests: how many had arrived, and how
// many had left the queue (with their first token or their end), at any time of
// the run. It reads the rows once and keeps two histograms of times since the
// first arrival, whose bins are 1/128 ms wide at first and 1/128 of the time
// later.
type backlog struct {
	first, last   float64 // arrivals
	arrived, left []int64
}

const (
	saturationSamples = 32  // times at which the queue is looked at
	saturationLeast   = 100 // fewer requests than that say nothing
)

// add notes a request that was not refused.
func (b *backlog) add(r *Row) {
	if b.arrived == nil {
		b.first = r.ArrivalMs
	}
	b.last = r.ArrivalMs
	leaves := r.FirstMs
	if r.OutputTokens == 0 || math.IsNaN(leaves) { // tokens of an answer that was not streamed have no times
		leaves = r.EndMs
	}
	count(&b.arrived, b.bin(r.ArrivalMs))
	count(&b.left, b.bin(leaves))
}

// bin is the bin of a time: the leading bits of 1 + the ms since the first
// arrival.
func (b *backlog) bin(atMs float64) int {
	const drop = 52 - 7
	return int(math.Float64bits(1+max(0, atMs-b.first))>>drop - math.Float64bits(1)>>drop)
}

// count adds 1 to bin i.
func count(bins *[]int64, i int) {
	if i >= len(*bins) {
		*bins = append(*bins, make([]int64, i+1-len(*bins))...)
	}
	(*bins)[i]++
}

// judge applies the SaturationRule. In a queue at equilibrium the quarters differ
// by chance only, a burst that drains makes them shrink; steady overload makes the
// queue grow by the same share of the arrivals all the time. A random walk of n
// arrivals and n departures ends about √(2n) from its start, which is why a few
// requests more prove nothing.
func (b *backlog) judge() Saturation {
	queue, arrived := b.sample()
	total := arrived[saturationSamples]
	switch {
	case total < saturationLeast:
		return unsaid(fmt.Sprintf("too few requests to tell growth from chance: %d of %d needed", total, saturationLeast))
	case b.bin(b.last) < saturationSamples:
		return unsaid("all requests arrive at once")
	}
	const q = saturationSamples / 4
	second, third, fourth := mean(queue[q+1:2*q+1]), mean(queue[2*q+1:3*q+1]), mean(queue[3*q+1:])
	later := float64(arrived[3*q+q/2] - arrived[q+q/2])
	growth := fourth - second
	yes := second < third && third < fourth && growth >= 0.05*later && growth >= 2*math.Sqrt(later)
	found := fmt.Sprintf("the queue was %.1f, %.1f and %.1f requests long in the last three quarters", second, third, fourth)
	return Saturation{State: &yes, Reason: found, Growth: growth / max(1, later)}
}

// sample is the length of the queue and the number of requests that have arrived
// at each of saturationSamples equal steps from the first arrival to the last.
func (b *backlog) sample() (queue, arrived [saturationSamples + 1]int64) {
	var in, out int64
	next := 0
	for k := range queue {
		at := b.first + float64((b.last-b.first)*float64(k)/saturationSamples)
		for end := b.bin(at); next <= end; next++ {
			in += at64(b.arrived, next)
			out += at64(b.left, next)
		}
		queue[k], arrived[k] = in-out, in
	}
	return queue, arrived
}

// at64 is bin i, 0 beyond the last.
func at64(bins []int64, i int) int64 {
	if i < len(bins) {
		return bins[i]
	}
	return 0
}

// mean is the mean of some lengths.
func mean(lengths []int64) float64 {
	sum := int64(0)
	for _, n := range lengths {
		sum += n
	}
	return float64(float64(sum) / float64(len(lengths)))
}

// unsaid is the answer where there is none.
func unsaid(why string) Saturation { return Saturation{Reason: why, Growth: math.NaN()} }

// worst joins the answers for parts of a fleet: one that is saturated makes the
// whole so; of equal answers that with more growth counts.
func worst(names []string, parts []Saturation) Saturation {
	if len(parts) == 1 {
		return parts[0]
	}
	all := unsaid("nothing can be said about any bucket")
	for i, p := range parts {
		if p.rank() > all.rank() || p.rank() == all.rank() && p.Growth > all.Growth {
			all = p
			all.Reason = "bucket " + names[i] + ": " + p.Reason
		}
	}
	return all
}

// rank orders answers: unknown, no, yes.
func (s *Saturation) rank() int {
	switch {
	case s.State == nil:
		return 0
	case !*s.State:
		return 1
	}
	return 2
}

package metrics

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/metrics/column"
)

// Setup is what a [Tally] has to know of a run before it starts.
type Setup struct {
	Buckets    []string // names, in order of their ids; a service without buckets has one, "default"
	SLA        *SLA
	ClosedLoop bool   // arrivals wait for completions, so no queue can say anything
	TempDir    string // for samples that do not fit in memory; "": the system's place
}

// Tally makes a [Summary] out of ended rows and gaps. It is fed by one goroutine,
// rows in order of arrival; how often and in which portions changes nothing. After
// an error it counts nothing any more and repeats the error.
type Tally struct {
	setup  Setup
	spill  *column.Spill
	groups []*group // by bucket
	sums   [figures]float64
	all    Accounting

	placed                  int64 // rows with an instance
	preemptions             int64
	cachedFirst, cachedMost int64
	good, goodTokens        int64
	lastEndMs               float64 // of completed requests
	err                     error
}

// NewTally starts a tally, which has to be closed.
func NewTally(s Setup) *Tally {
	t := &Tally{setup: s, spill: column.NewSpill(s.TempDir)}
	t.all.Reasons = map[string]map[Reason]int64{}
	for range s.Buckets {
		t.groups = append(t.groups, newGroup(t.spill))
	}
	return t
}

// Close frees what the tally holds.
func (t *Tally) Close() error { return t.spill.Close() }

// Add counts a row that has ended. The row is not kept.
func (t *Tally) Add(r *Row) error {
	if t.err == nil {
		if err := t.add(r); err != nil {
			t.err = fmt.Errorf("request %s (line %d): %w", r.Request, r.Line, err)
		}
	}
	return t.err
}

// add counts a row of a tally without errors.
func (t *Tally) add(r *Row) error {
	if err := t.check(r); err != nil {
		return err
	}
	t.account(r)
	if r.Bucket < 0 {
		return nil
	}
	if r.Instance >= 0 {
		t.placed++
	}
	g := t.groups[r.Bucket]
	g.count(r)
	if r.Status != Completed {
		return nil
	}
	samples := samplesOf(r)
	t.complete(r, samples)
	return g.complete(r, samples)
}

// Take moves the gaps that an instance of a bucket has collected into the tally.
// Their mean and spread stay, see [Use].
func (t *Tally) Take(bucket int32, g *Gaps) error {
	if t.err == nil {
		t.err = g.moveTo(t.groups[bucket].gaps)
	}
	return t.err
}

// check is what is wrong with a row.
func (t *Tally) check(r *Row) error {
	switch code, known := Code(r.Reason); {
	case r.Status == Open:
		return fmt.Errorf("it has not ended")
	case r.Reason != "" && !known:
		return fmt.Errorf("reason %q: want one of %q", code, reasons)
	case r.Reason == "" && r.Status != Completed:
		return fmt.Errorf("it is %s without a reason", r.Status)
	case int(r.Bucket) >= len(t.groups):
		return fmt.Errorf("bucket %d: there are %d", r.Bucket, len(t.groups))
	case (r.Bucket < 0 || r.Instance < 0) && r.Status == Completed:
		return fmt.Errorf("it completed without a bucket or instance")
	}
	return nil
}

// account counts the end of a row.
func (t *Tally) account(r *Row) {
	t.preemptions += int64(r.Preemptions)
	t.all.Offered++
	*t.all.of(r.Status)++
	if r.Reason != "" {
		code, _ := Code(r.Reason)
		t.all.because(r.Status.String(), code, 1)
	}
}

// complete counts a completed row and its samples.
func (t *Tally) complete(r *Row, samples [figures]float64) {
	t.lastEndMs = max(t.lastEndMs, r.EndMs)
	t.cachedFirst += int64(r.CachedTokens)
	t.cachedMost += int64(r.CachedMax)
	if t.setup.SLA != nil && t.setup.SLA.Good(r) {
		t.good++
		t.goodTokens += int64(r.OutputTokens)
	}
	for m, v := range samples {
		if !math.IsNaN(v) {
			t.sums[m] += v
		}
	}
}

// of is the counter of a status.
func (a *Accounting) of(s Status) *int64 {
	switch s {
	case Completed:
		return &a.Completed
	case Rejected:
		return &a.Rejected
	case Failed:
		return &a.Failed
	case Cancelled:
		return &a.Cancelled
	}
	return &a.Unfinished
}

// because adds n to a reason of a kind of end.
func (a *Accounting) because(kind string, why Reason, n int64) {
	if a.Reasons[kind] == nil {
		a.Reasons[kind] = map[Reason]int64{}
	}
	a.Reasons[kind][why] += n
}

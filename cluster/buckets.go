package cluster

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// Buckets is the bucketed service: a global router over clusters that share
// nothing (spec/buckets.md 1). A pool without buckets is a service of one.
type Buckets struct {
	buckets   []*bucket
	views     []routing.BucketView
	router    routing.GlobalRouter
	instances []*Instance
	ledger    *metrics.Ledger
	ended     []Ended // requests that no bucket takes

	log       func(*routing.Decision) error // nil: nobody asks
	decision  routing.Decision
	modes     [2]string // global, local
	loadAlpha float64
	delayMs   float64 // age of what the global router sees
}

// bucket is a pool with the input lengths that it is for.
type bucket struct {
	routing.Bucket
	*Cluster
	now  bucketView
	past *pastView // what the global router sees if views are delayed
}

// ServiceSetup is what a bucketed service is made of besides its buckets.
type ServiceSetup struct {
	Router routing.GlobalRouter
	Ledger *metrics.Ledger
	// ViewDelayMs is how old the buckets are that the global router sees.
	ViewDelayMs float64
	// Log is told every decision; nil: nobody asks. The record must not be kept.
	Log       func(*routing.Decision) error
	Modes     [2]string // names of the global and the local policy, for the log
	LoadAlpha float64   // of the local router, for the log
}

// NewBuckets is a service over pools, which stand in order of their ids.
func NewBuckets(ranges []routing.Bucket, pools []*Cluster, s ServiceSetup) *Buckets {
	b := &Buckets{router: s.Router, ledger: s.Ledger, log: s.Log, modes: s.Modes, loadAlpha: s.LoadAlpha, delayMs: s.ViewDelayMs}
	for i, c := range pools {
		k := &bucket{Bucket: ranges[i], Cluster: c}
		k.now = bucketView{b: k}
		b.buckets = append(b.buckets, k)
		b.instances = append(b.instances, c.instances...)
		var v routing.BucketView = &k.now
		if s.ViewDelayMs > 0 {
			k.past = newPastView(k, s.ViewDelayMs)
			v = k.past
		}
		b.views = append(b.views, v)
	}
	return b
}

var _ Service = (*Buckets)(nil)

// Instances implements [Service].
func (b *Buckets) Instances() []*Instance { return b.instances }

// Blind implements [Service].
func (b *Buckets) Blind() bool {
	blind := b.router.Needs() == 0 && b.log == nil && b.delayMs == 0
	for _, k := range b.buckets {
		blind = blind && k.Blind()
	}
	return blind
}

// Relax implements [Service]. Delayed views are taken at every instant.
func (b *Buckets) Relax(on bool) {
	for _, k := range b.buckets {
		k.Relax(on && b.delayMs == 0)
	}
}

// Gather implements [Service].
func (b *Buckets) Gather(nowMs float64) error {
	for _, k := range b.buckets {
		if err := k.Gather(nowMs); err != nil {
			return err
		}
	}
	return nil
}

// Kept implements [Service].
func (b *Buckets) Kept() int {
	n := 0
	for _, k := range b.buckets {
		n += k.Kept()
	}
	return n
}

// Place implements [Service]: views, the global router, the local router
// (spec/buckets.md 7).
func (b *Buckets) Place(r *routing.Request, e *engine.Request, nowMs float64) error {
	for _, k := range b.buckets {
		k.turnTo(r, nowMs)
	}
	d := b.record(r, e, nowMs)
	r.Decision = d
	d.SeeBuckets(r, b.views)
	home, err := routing.Home(r.InputTokens, b.views)
	if err != nil {
		return err
	}
	to, err := b.router.RouteBucket(r, b.views)
	if err != nil {
		return err
	}
	d.ChooseBucket(to, home)
	if to.Bucket < 0 {
		b.refuse(e.Row, to.Reason, nowMs)
		return b.tell(d)
	}
	if int(to.Bucket) >= len(b.buckets) {
		return fmt.Errorf("the global router chose bucket %d of %d", to.Bucket, len(b.buckets))
	}
	return b.placeIn(b.buckets[to.Bucket], home, r, e, nowMs)
}

// placeIn places a request in the bucket that has been chosen for it.
func (b *Buckets) placeIn(k *bucket, home int32, r *routing.Request, e *engine.Request, nowMs float64) error {
	row := b.ledger.Row(e.Row)
	row.Bucket = k.ID
	if home >= 0 {
		row.Tiers.LengthMatch = metrics.Strayed
		if home == k.ID {
			row.Tiers.LengthMatch = metrics.Matched
		}
	}
	if k.tiers != nil {
		row.Tiers.PredictedPrefix = b.views[k.ID].Predicted()
	}
	d := r.Decision
	d.SeeInstances(&k.view, b.loadAlpha)
	choice, queued, err := k.choose(r, nowMs)
	switch {
	case err != nil:
		return err
	case queued:
		k.kept[e.Row] = *e
		return nil
	}
	if d != nil {
		d.ChooseInstance(choice, b.bestPrefix())
	}
	k.submit(choice, e, nowMs)
	return b.tell(d)
}

// record is the record of a decision, nil if nobody asks.
func (b *Buckets) record(r *routing.Request, e *engine.Request, nowMs float64) *routing.Decision {
	if b.log == nil {
		return nil
	}
	d := &b.decision
	d.Reset()
	d.TimeMs, d.RequestID, d.SessionID, d.InputLength = nowMs, e.ID, r.Session, r.InputTokens
	d.GlobalMode, d.LocalMode = b.modes[0], b.modes[1]
	return d
}

func (b *Buckets) tell(d *routing.Decision) error {
	if d == nil {
		return nil
	}
	return b.log(d)
}

// bestPrefix is the longest prefix that any instance of the service has.
func (b *Buckets) bestPrefix() int32 {
	best := int32(0)
	for _, k := range b.buckets {
		for _, n := range k.view.Prefix() {
			best = max(best, n)
		}
	}
	return best
}

// refuse ends a request that no bucket takes.
func (b *Buckets) refuse(row int32, reason string, nowMs float64) {
	b.ledger.Row(row).End(metrics.Rejected, reason, nowMs, nil, nil, false)
	b.ended = append(b.ended, Ended{Row: row, Status: metrics.Rejected, AtMs: nowMs})
}

// NextMs implements [Service].
func (b *Buckets) NextMs() float64 {
	if len(b.ended) > 0 {
		return b.ended[0].AtMs
	}
	next := math.Inf(1)
	for _, k := range b.buckets {
		next = min(next, k.NextMs())
	}
	return next
}

// Settle implements [Service].
func (b *Buckets) Settle(nowMs float64, ended func(Ended)) error {
	for _, e := range b.ended {
		ended(e)
	}
	b.ended = b.ended[:0]
	for _, k := range b.buckets {
		if err := k.Settle(nowMs, ended); err != nil {
			return err
		}
	}
	return nil
}

// Start implements [Service].
func (b *Buckets) Start(nowMs float64) error {
	for _, k := range b.buckets {
		if err := k.Start(nowMs); err != nil {
			return err
		}
	}
	if b.delayMs > 0 {
		for _, k := range b.buckets {
			k.past.remember(nowMs)
		}
	}
	return nil
}

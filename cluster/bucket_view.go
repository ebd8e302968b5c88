package cluster

import (
	"math"
	"slices"

	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/routing"
)

// turnTo makes the bucket's views those for another decision.
func (k *bucket) turnTo(r *routing.Request, nowMs float64) {
	k.view.turnTo(r, nowMs)
	k.now.counted = false
	if k.past != nil {
		k.past.turnTo(nowMs)
	}
}

// bucketView is a bucket as it is.
type bucketView struct {
	b       *bucket
	counted bool
	counts  routing.Counts
	tokens  int64 // prefill tokens that are not computed
}

// Bucket implements [routing.BucketView].
func (v *bucketView) Bucket() *routing.Bucket { return &v.b.Bucket }

// Counts implements [routing.BucketView].
func (v *bucketView) Counts() routing.Counts {
	v.count()
	return v.counts
}

// Predicted implements [routing.BucketView].
func (v *bucketView) Predicted() int32 { return v.b.view.Predicted() }

// DrainMs implements [routing.BucketView].
func (v *bucketView) DrainMs() (float64, bool) {
	v.count()
	return v.b.drainMs(v.tokens)
}

// AgeMs implements [routing.BucketView].
func (v *bucketView) AgeMs() float64 { return 0 }

// count sums up the instances.
func (v *bucketView) count() {
	if v.counted {
		return
	}
	v.counted = true
	v.counts, v.tokens = routing.Counts{}, 0
	for i := range v.b.instances {
		l := v.b.view.Load(i)
		v.counts.Instances++
		v.counts.QueueSum += int32(l.Waiting)
		v.counts.QueueMax = max(v.counts.QueueMax, int32(l.Waiting))
		v.counts.Active += int32(l.Waiting + l.Running)
		v.counts.BlocksUsed += int64(l.BlocksUsed)
		v.counts.BlocksTotal += int64(l.BlocksTotal)
		v.tokens += int64(l.PrefillTokens)
	}
}

// drainMs is the price of an instance's share of prefill tokens.
func (k *bucket) drainMs(tokens int64) (float64, bool) {
	n := int64(len(k.instances))
	return k.view.price((tokens + n - 1) / n)
}

// pastView is a bucket as it was some time ago: what the last instant left that is
// no younger. Counts are remembered after each instant, what the meta store said
// follows from its changes.
type pastView struct {
	b       *bucket
	delayMs float64
	atMs    float64 // the time that is shown
	line    []remembered
	store   *kvcache.Directory // as it was
	changes []kvcache.Change   // not yet made, in order of time
	prefix  []int32
	shown   bool
	longest int32
}

type remembered struct {
	ms     float64
	counts routing.Counts
	tokens int64
}

func newPastView(b *bucket, delayMs float64) *pastView {
	p := &pastView{b: b, delayMs: delayMs, prefix: make([]int32, len(b.instances))}
	for _, in := range b.instances {
		in.everyPass = true
	}
	if t := b.tiers; t != nil {
		p.store = kvcache.NewDirectory(len(b.instances), 0, t.Visibility)
		t.dir.Watch(p.change)
	}
	return p
}

// change takes in what the meta store says from now on.
func (p *pastView) change(c kvcache.Change) {
	at := len(p.changes)
	for at > 0 && p.changes[at-1].AtMs > c.AtMs {
		at--
	}
	p.changes = slices.Insert(p.changes, at, c)
}

// remember keeps the state that an instant has left.
func (p *pastView) remember(nowMs float64) {
	v := &p.b.now
	p.b.view.nowMs, v.counted = nowMs, false
	v.count()
	if n := len(p.line); n > 0 && p.line[n-1].ms == nowMs {
		p.line = p.line[:n-1]
	}
	p.line = append(p.line, remembered{nowMs, v.counts, v.tokens})
}

// turnTo shows the state of delayMs ago.
func (p *pastView) turnTo(nowMs float64) {
	p.atMs, p.shown = nowMs-p.delayMs, false
	drop := 0
	for drop+1 < len(p.line) && p.line[drop+1].ms <= p.atMs {
		drop++
	}
	p.line = p.line[drop:]
}

// state is what is shown: empty before the first instant.
func (p *pastView) state() remembered {
	if len(p.line) > 0 && p.line[0].ms <= p.atMs {
		return p.line[0]
	}
	empty := remembered{ms: math.Inf(-1)}
	for _, in := range p.b.instances {
		empty.counts.Instances++
		empty.counts.BlocksTotal += int64(in.rank.Load().BlocksTotal)
	}
	return empty
}

// Bucket implements [routing.BucketView].
func (p *pastView) Bucket() *routing.Bucket { return &p.b.Bucket }

// Counts implements [routing.BucketView].
func (p *pastView) Counts() routing.Counts { return p.state().counts }

// DrainMs implements [routing.BucketView].
func (p *pastView) DrainMs() (float64, bool) { return p.b.drainMs(p.state().tokens) }

// AgeMs implements [routing.BucketView].
func (p *pastView) AgeMs() float64 { return p.delayMs }

// Predicted implements [routing.BucketView].
func (p *pastView) Predicted() int32 {
	if p.store == nil {
		return 0
	}
	if p.shown {
		return p.longest
	}
	p.shown = true
	n := 0
	for n < len(p.changes) && p.changes[n].AtMs <= p.atMs {
		p.store.Apply(p.changes[n])
		n++
	}
	p.changes = p.changes[n:]
	v := &p.b.view
	all := p.store.Prefix(p.prefix, v.content(), v.findable(), p.atMs)
	if p.longest = all; !p.b.tiers.Remote {
		p.longest = slices.Max(p.prefix)
	}
	return p.longest
}

package literal

import (
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

// lookup is what the meta store of a bucket says of a prompt.
type lookup struct {
	b     *bucket
	q     *request
	store *store // nil: the present one
	atMs  float64
}

func (l *lookup) prefix() []int32 {
	var prefix []int32
	for i := range l.b.instances {
		prefix = append(prefix, int32(l.read().prefix(l.names(), i, l.atMs)))
	}
	return prefix
}

func (l *lookup) predicted() int32 {
	if l.b.s.remoteOn() {
		return int32(l.read().together(l.names(), len(l.b.instances), l.atMs))
	}
	return slices.Max(l.prefix())
}

func (l *lookup) read() *store {
	if l.store == nil {
		l.store, l.atMs = l.b.store, l.b.nowMs
	}
	return l.store
}

// names are those of the full blocks of the prompt, one token left out. A prompt of
// unknown content has none that others could know.
func (l *lookup) names() []string {
	return l.q.names[:max(0, l.q.call.Prompt-1)/l.b.s.Engine.BlockSize]
}

// view is a bucket as its local router sees it.
type view struct {
	b *bucket
	q *request
}

var _ routing.View = (*view)(nil)

func (v *view) Len() int          { return len(v.b.instances) }
func (v *view) Draining(int) bool { return false }
func (v *view) BlockSize() int    { return v.b.s.Engine.BlockSize }
func (v *view) Remote() bool      { return v.b.s.remoteOn() }
func (v *view) Prefix() []int32   { return (&lookup{b: v.b, q: v.q}).prefix() }
func (v *view) Predicted() int32  { return (&lookup{b: v.b, q: v.q}).predicted() }

func (v *view) Load(i int) engine.Load {
	l := v.b.instances[i].view()
	for _, p := range v.b.probing {
		if p.to == i {
			l.Waiting++
			l.PrefillTokens += p.q.call.Prompt
		}
	}
	return l
}

func (v *view) Keys(most int) []token.Key {
	if v.q.call.Content == nil {
		return nil
	}
	keys := v.q.call.Content.Keys(nil, v.BlockSize())
	return keys[:min(most, len(keys))]
}

// Resident is what the engine's own lookup would find, and host memory behind it.
func (v *view) Resident(i int, _ *token.Seq) int {
	in, names := v.b.instances[i], (&lookup{b: v.b, q: v.q}).names()
	n := 0
	if in.s.Engine.EnablePrefixCaching {
		n = len(in.pool.find(names))
	}
	for n < len(names) && in.s.hostOn() && in.host.has(names[n]) {
		n++
	}
	return n * v.BlockSize()
}

func (v *view) PrefillMs(tokens int64) (float64, bool) { return v.b.s.price(tokens), true }

func (v *view) RemoteMs(blocks int32) float64 {
	if blocks == 0 || !v.Remote() {
		return 0
	}
	return v.b.s.remoteMs(int(blocks))
}

// snapshot is a bucket at the end of an instant.
type snapshot struct {
	atMs   float64
	counts routing.Counts
	tokens int64
	store  *store
}

// now is the bucket as it is.
func (b *bucket) now() snapshot {
	s := snapshot{atMs: b.nowMs, store: b.store}
	v := &view{b: b}
	for i := range b.instances {
		l := v.Load(i)
		s.counts.Instances++
		s.counts.QueueSum += int32(l.Waiting)
		s.counts.QueueMax = max(s.counts.QueueMax, int32(l.Waiting))
		s.counts.Active += int32(l.Waiting + l.Running)
		s.counts.BlocksUsed += int64(l.BlocksUsed)
		s.counts.BlocksTotal += int64(l.BlocksTotal)
		s.tokens += int64(l.PrefillTokens)
	}
	return s
}

// remember keeps the bucket as an instant has left it, if views are delayed.
func (b *bucket) remember() {
	if b.s.Global.ViewDelayMs > 0 {
		s := b.now()
		s.store = s.store.copied()
		b.past = append(b.past, s)
	}
}

// bucketView is a bucket as the global router sees it.
type bucketView struct {
	snapshot
	b     *bucket
	q     *request
	ageMs float64
}

var _ routing.BucketView = (*bucketView)(nil)

// seen is the bucket at nowMs, or as long ago as views are delayed: what the last
// instant left that is no younger, empty before the first.
func (b *bucket) seen(q *request, nowMs float64) *bucketView {
	delay := b.s.Global.ViewDelayMs
	v := &bucketView{b: b, q: q, ageMs: delay}
	if delay == 0 {
		v.snapshot = b.now()
		return v
	}
	v.snapshot = snapshot{store: &store{ttlMs: b.s.TTLMs}}
	v.counts.Instances = int32(len(b.instances))
	for _, in := range b.instances {
		v.counts.BlocksTotal += int64(in.pool.size)
	}
	for _, s := range b.past {
		if s.atMs <= nowMs-delay {
			v.snapshot = s
		}
	}
	v.atMs = nowMs - delay
	return v
}

func (v *bucketView) Bucket() *routing.Bucket { return &v.b.Bucket }
func (v *bucketView) Counts() routing.Counts  { return v.counts }
func (v *bucketView) AgeMs() float64          { return v.ageMs }

func (v *bucketView) Predicted() int32 {
	return (&lookup{b: v.b, q: v.q, store: v.store, atMs: v.atMs}).predicted()
}

func (v *bucketView) DrainMs() (float64, bool) {
	each := math.Ceil(float64(v.tokens) / float64(len(v.b.instances)))
	return v.b.s.price(int64(each)), true
}

package routingtest

import "github.com/reprise-sim/reprise/routing"

// Bucket is a bucket as a global router sees it.
type Bucket struct {
	Is     routing.Bucket
	Has    routing.Counts
	Prefix int32    // predicted_prefix_blocks of the request
	Drain  *float64 // estimated_drain_ms; nil: the latency model cannot say
	Age    float64  // of the view, ms
}

var _ routing.BucketView = (*Bucket)(nil)

// Bucket implements [routing.BucketView].
func (b *Bucket) Bucket() *routing.Bucket { return &b.Is }

// Counts implements [routing.BucketView].
func (b *Bucket) Counts() routing.Counts { return b.Has }

// Predicted implements [routing.BucketView].
func (b *Bucket) Predicted() int32 { return b.Prefix }

// DrainMs implements [routing.BucketView].
func (b *Bucket) DrainMs() (float64, bool) {
	if b.Drain == nil {
		return 0, false
	}
	return *b.Drain, true
}

// AgeMs implements [routing.BucketView].
func (b *Bucket) AgeMs() float64 { return b.Age }

package routing

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/metrics"
)

// Unlimited is the upper end of a range that has none.
const Unlimited = math.MaxInt32

// Bucket is what is known of a bucket before anything runs.
type Bucket struct {
	ID        int32  // rank by Min, from 0
	Name      string // unique
	Min, Max  int32  // input lengths it is for, in tokens, both ends inside; Max may be Unlimited
	MaxSeqs   int32  // most running requests of an instance; 0: no limit
	BlockSize int32  // tokens in a KV block
}

// Holds is whether the bucket's range holds an input length.
func (b *Bucket) Holds(inputTokens int32) bool { return b.Min <= inputTokens && inputTokens <= b.Max }

// Counts are sums over the instances of a bucket (spec/buckets.md 3).
type Counts struct {
	Instances               int32
	QueueSum, QueueMax      int32 // queue_len: requests sent to an instance that do not run
	Active                  int32 // waiting + running + being loaded
	BlocksUsed, BlocksTotal int64
}

// BucketView is a bucket as a global router sees it, now or some time ago
// (spec/buckets.md 3). Nothing is computed before it is asked for, and nothing twice.
type BucketView interface {
	Bucket() *Bucket
	Counts() Counts
	// Predicted is predicted_prefix_blocks: leading blocks of the request's prompt
	// that the bucket could supply without computing them, at most [MaxPrefix].
	Predicted() int32
	// DrainMs is estimated_drain_ms, the price of ⌈outstanding prefill tokens ÷
	// instances⌉; false if the latency model cannot say.
	DrainMs() (float64, bool)
	// AgeMs is how old the view is.
	AgeMs() float64
}

// GlobalRouter chooses the bucket of a request.
type GlobalRouter interface {
	// Needs is what it looks at: Views for Counts, Prefixes for Predicted, Prices for
	// DrainMs; 0 if nothing but ranges.
	Needs() Needs
	// RouteBucket chooses among all buckets, which stand in order of their ids from
	// 0; there is at least one.
	RouteBucket(r *Request, buckets []BucketView) (BucketChoice, error)
}

// Homebound is implemented by a [GlobalRouter] that places a request only if the
// range of some bucket holds its length (spec/buckets.md 2, rule 9).
type Homebound interface{ Homebound() }

// BucketChoice is the bucket that a request goes to.
type BucketChoice struct {
	Bucket int32 // its id, −1 if no bucket takes the request
	Reason string
}

// noBucket is the choice if no bucket takes a request.
var noBucket = BucketChoice{-1, metrics.NoBucket}

// Home is the id of the bucket whose range holds an input length, −1 if there is
// none. Two are an error: the configuration should have been refused.
func Home(inputTokens int32, buckets []BucketView) (int32, error) {
	home := int32(-1)
	for _, v := range buckets {
		b := v.Bucket()
		if !b.Holds(inputTokens) {
			continue
		}
		if home >= 0 {
			return -1, fmt.Errorf("internal error: %d tokens fit bucket %s and bucket %s", inputTokens, buckets[home].Bucket().Name, b.Name)
		}
		home = b.ID
	}
	return home, nil
}

// LengthPenalty is how far a length is outside a bucket's range (spec/buckets.md 4):
// 0 inside, else
//
//	distance to the nearer end ÷ (max − min + 1)    unlimited top: ÷ max(min, 1)
func LengthPenalty(inputTokens int32, b *Bucket) float64 {
	distance := int64(0)
	switch {
	case inputTokens < b.Min:
		distance = int64(b.Min) - int64(inputTokens)
	case inputTokens > b.Max:
		distance = int64(inputTokens) - int64(b.Max)
	}
	width := int64(b.Max) - int64(b.Min) + 1
	if b.Max == Unlimited {
		width = int64(max(b.Min, 1))
	}
	return float64(distance) / float64(width)
}

// seqsWithoutLimit stands for max_num_seqs where there is no limit (spec/buckets.md 4).
const seqsWithoutLimit = 256

// BucketLoad is the load of a bucket (spec/buckets.md 4):
//
//	active_requests ÷ (num_instances × max_num_seqs)    no limit on sequences: 256
//
// A bucket without instances has infinite load.
func BucketLoad(v BucketView) float64 {
	c, seqs := v.Counts(), v.Bucket().MaxSeqs
	if seqs == 0 {
		seqs = seqsWithoutLimit
	}
	if c.Instances == 0 {
		return math.Inf(1)
	}
	return float64(c.Active) / float64(int64(c.Instances)*int64(seqs))
}

// BucketMiss is the share of a prompt that a bucket would have to compute
// (spec/buckets.md 4), from 0 to 1:
//
//	1 − predicted_prefix_blocks × block_size ÷ input_length    1 for an empty prompt
func BucketMiss(inputTokens int32, v BucketView) float64 {
	if inputTokens <= 0 {
		return 1
	}
	supplied := float64(int64(v.Predicted())*int64(v.Bucket().BlockSize)) / float64(inputTokens)
	return min(max(1-supplied, 0), 1)
}

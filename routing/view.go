package routing

import (
	"iter"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// View is a bucket as its local router sees it: all targets at the instant of a
// decision, and what is known of the prompt of the request that is being routed
// (spec/buckets.md 5). Nothing is computed before it is asked for. Slices belong
// to the view and are valid until the next request.
type View interface {
	// Len is the number of targets there have ever been. Targets are numbered from 0;
	// with one rank an instance they are the instances.
	Len() int
	// Draining is whether a target takes no requests: it drains, is not ready yet, or
	// is gone.
	Draining(target int) bool
	// Load is queue_len (Waiting: all requests sent to the target that do not run),
	// running, kv_blocks_used, kv_blocks_total and outstanding_prefill_tokens.
	Load(target int) engine.Load

	// BlockSize is the number of tokens in a KV block.
	BlockSize() int
	// Keys are the keys of the prompt's first full blocks, at most most; none if its
	// content is unknown.
	Keys(most int) []token.Key
	// Prefix is prefix(i) for each target: leading blocks of the prompt that it owns
	// by the meta store, at most [MaxPrefix]; 0 if its content is unknown.
	Prefix() []int32
	// Predicted is predicted_prefix_blocks: leading blocks that the bucket could
	// supply, at most [MaxPrefix].
	Predicted() int32
	// Resident is how many leading tokens of the prompt the target really holds, in
	// L0 and then in L1.
	Resident(target int, prompt *token.Seq) int

	// PrefillMs is price(tokens), the time to prefill so many tokens of one prompt
	// without a prefix; false if the latency model cannot say.
	PrefillMs(tokens int64) (float64, bool)
	// Remote is whether instances fetch blocks from one another.
	Remote() bool
	// RemoteMs is how long a fetch of that many blocks takes, as one run that waits
	// for nobody.
	RemoteMs(blocks int32) float64
}

// Candidates are the targets that take requests, in ascending order.
func Candidates(v View) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range v.Len() {
			if !v.Draining(i) && !yield(i) {
				return
			}
		}
	}
}

// MaxPrefix is the longest prefix, in blocks, that a cache can save a prompt of so
// many tokens: at least one token is left to compute (spec/buckets.md 3).
func MaxPrefix(inputTokens int32, blockSize int) int32 {
	return max(inputTokens-1, 0) / int32(blockSize)
}

// Load is the common quantity of spec/buckets.md 5:
//
//	load(i) = kv_blocks_used ÷ kv_blocks_total + alpha × (queue_len + running)
//
// A target without blocks counts as empty.
func Load(l engine.Load, alpha float64) float64 {
	used := 0.0
	if l.BlocksTotal > 0 {
		used = float64(l.BlocksUsed) / float64(l.BlocksTotal)
	}
	return used + float64(alpha*float64(l.Waiting+l.Running))
}

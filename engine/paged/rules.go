package paged

import (
	"math"

	"github.com/reprise-sim/reprise/engine"
)

// rules is a rule set as data: where the rule sets differ, and the settings that
// only some of them have. Each field cites where the difference is written down.
type rules struct {
	// depth is how many passes are decided before the oldest is complete
	// (vllm-real.md 7: two with asynchronous scheduling).
	depth int
	// nullBlocks are never handed out (vllm-real.md 3.1).
	nullBlocks int32
	// refusesInPass: what can never be served ends in the pass that looks at it,
	// not at the front end (engine.md 6.2 step 4.2, 6.5; vllm-real.md 11).
	refusesInPass bool
	// endsWithoutTokens: a request for no output runs and ends without a token
	// (engine.md 6.6), else it is refused (vllm-real.md 11).
	endsWithoutTokens bool
	// admitsAtZeroBudget: requests that need no token are admitted when the budget
	// is used up (engine.md 6.2; vllm-real.md 12 row 20).
	admitsAtZeroBudget bool
	// unchunkedWhole: without chunking the whole known rest has to fit the budget,
	// else only the rest of the prompt (vllm-real.md 12 row 10).
	unchunkedWhole bool
	// recomputeIsPrefill: generated tokens that are computed again cost prefill
	// time (vllm-real.md 12 row 25, DESIGN.md 6), else nothing (engine.md 3.3).
	recomputeIsPrefill bool
	// selfEndsWalk: the running loop ends when a request loses its own blocks
	// (vllm-real.md 4.2), else it goes on with the next (engine.md 6.2 step 3).
	selfEndsWalk bool
	// victim is who loses its blocks (vllm-real.md 4.3, 10; engine.md 6.4).
	victim victim
	// byPriority: waiting requests are ordered by priority, a preempted one goes
	// back to its place (vllm-real.md 10), else in order of arrival, a preempted
	// one to the front.
	byPriority bool

	// watermark is the number of blocks kept free at an admission while others run
	// (vllm-real.md 5.2).
	watermark int32
	// reserveWhole: all known tokens must fit at admission, not only the first
	// chunk (vllm-real.md 5.2, engine.md 6.5).
	reserveWhole bool
	// threshold caps the tokens of one request in a pass, 0 for no cap; adaptive
	// raises it to a fair share of the budget (vllm-real.md 4.1).
	threshold, fairShare int32
	adaptive             bool
}

// victim names the running request that is preempted.
type victim uint8

const (
	lastRunning  victim = iota // engine.md 6.4 lifo; vllm-real.md 4.3
	firstRunning               // engine.md 6.4 fifo
	worstRunning               // vllm-real.md 10: largest (priority, arrival)
)

// aisimulate are the rules of the reference simulator 0.13 (spec/engine.md 6).
func aisimulate(s *engine.Settings) rules {
	r := rules{
		depth:              1,
		refusesInPass:      true,
		endsWithoutTokens:  true,
		admitsAtZeroBudget: true,
		reserveWhole:       true,
		victim:             lastRunning,
	}
	if s.AISimulate.PreemptionMode == "fifo" {
		r.victim = firstRunning
	}
	return r
}

// vllm are the rules of the scheduler of vLLM 0.32 (spec/vllm-real.md).
func vllm(s *engine.Settings) rules {
	r := rules{
		depth:              1,
		nullBlocks:         1,
		unchunkedWhole:     true,
		recomputeIsPrefill: true,
		selfEndsWalk:       true,
		victim:             lastRunning,
		watermark:          int32(math.Floor(s.VLLM.Watermark * float64(s.NumGPUBlocks))),
		reserveWhole:       s.VLLM.ReserveFullISL,
		threshold:          int32(s.VLLM.LongPrefillTokenThreshold),
		fairShare:          int32(s.MaxNumBatchedTokens),
		adaptive:           s.VLLM.LongPrefillAdaptive && s.VLLM.LongPrefillTokenThreshold > 0,
	}
	if s.VLLM.AsyncScheduling {
		r.depth = 2
	}
	if s.VLLM.Policy == "priority" {
		r.victim, r.byPriority = worstRunning, true
	}
	return r
}

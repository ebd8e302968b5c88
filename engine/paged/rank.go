package paged

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/token"
)

// Rank is one scheduler with its pool. It implements [engine.Rank].
type Rank struct {
	rules
	blockSize   int32
	maxModelLen int32 // 0: no limit
	maxRunning  int
	budget      int32 // tokens of a pass
	chunking    bool
	caching     bool
	interval    int // prefill cadence; 1: off

	pool     *kvcache.Pool
	requests []request // by slot
	unused   []int32
	words    []uint64 // room for words of requests to come

	waiting  queue
	backlog  int64 // prompt tokens of waiting requests
	running  list
	partials []int32 // running requests in mid prefill, in order
	dec      decodes
	orders   int // orders given out

	pass  int // the next pass to be decided
	done  int // passes complete
	step  step
	steps int // walks so far

	growing  int // running requests whose generated blocks others may look up
	pendings []pending

	lower engine.Lower // nil: no tiers below the pool
	loads loads
	late  outcomes

	// blocked: the head of the queue was refused for a reason that lasts until a
	// running request ends or loses its blocks.
	blocked bool
	// bound: the last step that was free to admit left requests waiting
	// (vllm-real.md 9, engine.md 6.8).
	bound bool
}

var _ engine.Rank = (*Rank)(nil)

// New makes an empty rank from settings that Resolve has accepted.
func New(s *engine.Settings) *Rank {
	r := &Rank{
		blockSize:  int32(s.BlockSize),
		maxRunning: s.MaxNumSeqs,
		budget:     int32(s.MaxNumBatchedTokens),
		chunking:   s.EnableChunkedPrefill,
		caching:    s.EnablePrefixCaching,
		interval:   s.PrefillScheduleInterval,
		running:    list{head: none, tail: none},
	}
	if s.MaxModelLen != nil {
		r.maxModelLen = int32(*s.MaxModelLen)
	}
	if s.Rules == "aisimulate-0.13" {
		r.rules = aisimulate(s)
	} else {
		r.rules = vllm(s)
		if n := s.VLLM.MaxNumActiveSeqs; n != nil {
			r.maxRunning = *n
		}
		if n := s.VLLM.MaxNumScheduledTokens; n != nil {
			r.budget = int32(*n)
		}
	}
	r.pool = kvcache.NewPool(s.NumGPUBlocks-int(r.nullBlocks), s.EnablePrefixCaching)
	r.dec.need = make([]int32, s.BlockSize)
	r.waiting = &arrivals{}
	if r.byPriority {
		r.waiting = &priorities{less: r.moreUrgent}
	}
	return r
}

// moreUrgent orders waiting requests under the priority policy.
func (r *Rank) moreUrgent(a, b int32) bool {
	p, q := &r.requests[a], &r.requests[b]
	if p.priority != q.priority {
		return p.priority < q.priority
	}
	if p.arrival != q.arrival {
		return p.arrival < q.arrival
	}
	return p.id < q.id
}

// Refuse implements [engine.Rank]. What the rules themselves refuse in a pass is
// left to them; what they would let wait or run in circles for ever ends here.
func (r *Rank) Refuse(e *engine.Request) string {
	if e.InputTokens == 0 {
		return "empty_prompt"
	}
	if e.MaxTokens == 0 && !r.endsWithoutTokens {
		return "empty_output"
	}
	// The last token is never computed: it needs no room.
	tokens := int64(e.InputTokens) + max(0, int64(r.limit(e))-1)
	if tokens > math.MaxInt32 { // counts are of 32 bits
		return fmt.Sprintf("max_model_len: %d of %d", tokens, math.MaxInt32)
	}
	if r.refusesInPass {
		if r.overlong(e.InputTokens) != "" || r.oversized(e.InputTokens) != "" {
			return ""
		}
	} else if reason := r.overlong(e.InputTokens); reason != "" {
		return reason
	}
	if reason := r.oversized(int32(tokens)); reason != "" {
		return reason
	}
	if !r.chunking && e.InputTokens > r.budget {
		return fmt.Sprintf("needs_budget: %d of %d", e.InputTokens, r.budget)
	}
	return ""
}

// overlong is the reason to refuse a prompt that leaves no room for an output.
func (r *Rank) overlong(prompt int32) string {
	if r.maxModelLen > 0 && prompt >= r.maxModelLen {
		return fmt.Sprintf("max_model_len: %d of %d", prompt, r.maxModelLen)
	}
	return ""
}

// oversized is the reason to refuse what needs more blocks than there are.
func (r *Rank) oversized(tokens int32) string {
	if n := r.blocks(tokens); n > r.pool.Size() {
		return fmt.Sprintf("needs_blocks: %d of %d", n, r.pool.Size())
	}
	return ""
}

// Submit implements [engine.Rank].
func (r *Rank) Submit(e *engine.Request) {
	s := r.slot(e)
	r.waiting.push(s)
	r.backlog += int64(e.InputTokens)
	if r.byPriority && r.waiting.head() == s {
		r.blocked = false
	}
}

// Depth implements [engine.Rank].
func (r *Rank) Depth() int { return r.depth }

// Quiet implements [engine.Rank].
func (r *Rank) Quiet() bool {
	if r.running.n >= r.maxRunning {
		return true
	}
	return r.blocked && !r.byPriority && r.waiting.len()+len(r.loads.ready) > 0
}

// Stuck implements [engine.Rank].
func (r *Rank) Stuck() (row int32, reason string, ok bool) {
	if r.running.n > 0 || r.loads.n > len(r.loads.ready) || r.waiting.len()+r.loads.n == 0 {
		return 0, "", false
	}
	var q *request
	if r.loads.n > 0 {
		q = &r.requests[r.loads.ready[0]]
	} else {
		q = &r.requests[r.waiting.head()]
	}
	if whole := r.blocks(q.known()); whole > r.pool.Size() {
		return q.row, r.oversized(q.known()), true
	}
	return q.row, fmt.Sprintf("needs_budget: %d of %d", q.known(), r.budget), true
}

// Load implements [engine.Rank].
func (r *Rank) Load() engine.Load {
	return engine.Load{
		Waiting:       r.waiting.len() + r.loads.n,
		Running:       r.running.n,
		BlocksUsed:    int(r.pool.Active()),
		BlocksCached:  int(r.pool.Idle()),
		BlocksTotal:   int(r.pool.Size()),
		PrefillTokens: r.prefillTokens(),
	}
}

// prefillTokens are the prompt tokens that are not computed yet: whole prompts of
// waiting requests, rests of running ones, and chunks of passes in flight.
func (r *Rank) prefillTokens() int {
	n := r.backlog
	for _, s := range r.partials {
		q := &r.requests[s]
		n += int64(max(0, q.prompt-q.computed))
	}
	return int(n + r.late.chunkTokens(r.requests))
}

// Resident implements [engine.Rank].
func (r *Rank) Resident(prompt *token.Seq) int {
	words := prompt.Words(nil, int(r.blockSize))
	hit := r.lookUp(words, int32((prompt.Len()-1)/int(r.blockSize)), r.pass-1)
	return int(hit.Blocks * r.blockSize)
}

// extentAt is how many tokens of q are both computed and known at the start of
// pass p: full blocks among them can be found by others. Under asynchronous
// scheduling a token that decoding yields is not known yet when the pass that
// computes it is decided; its block counts once the pass after has been received
// (vllm-real.md 7.5).
func (r *Rank) extentAt(q *request, p int) int32 {
	lag, last := q.lag, q.lastToken
	if q.state == decoding {
		lag, last = p > q.join, p-1
	}
	n := q.computedAt(p)
	if r.depth > 1 && lag && last >= r.done {
		n--
	}
	return n
}

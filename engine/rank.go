package engine

import (
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/token"
)

// Request is a call as an engine sees it.
type Request struct {
	Row         int32      // names the request in every effect
	ID          string     // breaks ties of the priority policy
	Prompt      *token.Seq // nil: content unknown, shared with nobody
	Output      *token.Seq // content of the tokens it will generate, if somebody may send them again; nil: nobody
	InputTokens int32
	MaxTokens   int32   // tokens it asks for
	Priority    int32   // smaller is more urgent
	Arrival     float64 // earlier requests have smaller ones; requests that share one are at the mercy of their ids
}

// Kind says what an effect reports.
type Kind uint8

const (
	// Admitted: the request became running. N is the number of its tokens that
	// came from the cache, Again whether it had been admitted before.
	Admitted Kind = iota
	// Preempted: the request lost its blocks and waits again.
	Preempted
	// First: the request got its first token, in pass Pass.
	First
	// Tokens: a contiguous run of tokens is complete: N tokens, one a pass, from
	// pass Pass on.
	Tokens
	// Finished: the request ended as it should, in pass Pass. All its Tokens came
	// before.
	Finished
	// Rejected: the rank refused the request in pass Pass, Reason says why.
	Rejected
)

// Event is one effect on one request.
type Event struct {
	Kind   Kind
	Again  bool
	Row    int32
	N      int32
	Pass   int
	Reason string
}

// Effects collects events in the order in which they happen. The caller owns it
// and empties it; its storage is reused. Blocks is for ranks with tiers only.
type Effects struct {
	Events []Event
	Blocks []BlockEvent
}

// Add appends an event.
func (fx *Effects) Add(e Event) { fx.Events = append(fx.Events, e) }

// Reset empties it.
func (fx *Effects) Reset() { fx.Events, fx.Blocks = fx.Events[:0], fx.Blocks[:0] }

// Pass is a decided pass.
type Pass struct {
	Index     int // counts the passes of the rank from 0
	Cost      latency.Pass
	Tokens    int // tokens scheduled
	Continued int // tokens that follow a token of the same request in the pass before

	// Throttled is an input: prefills may not start in this pass (attention data
	// parallelism, spec/vllm-real.md 9).
	Throttled bool
}

// Decision is the outcome of Schedule.
type Decision uint8

const (
	Idle    Decision = iota // nothing to compute, nothing changed
	Changed                 // nothing to compute, but requests lost their blocks
	Decided                 // a pass
)

// Stretch describes consecutive passes that decode the same requests.
type Stretch struct {
	First     latency.Pass // DecodeContext grows by DecodeNew a pass
	Passes    int          // how many are certain
	Continued int          // as in Pass, the same for each of them
	Ends      bool         // requests end in the last one
}

// Load is what a rank tells about itself.
type Load struct {
	Waiting, Running int // requests; a request is in one of them from submit to end
	BlocksUsed       int // with a reference
	BlocksCached     int // without one, still holding content
	BlocksTotal      int // that can be handed out
	PrefillTokens    int // known tokens of waiting and running requests not yet computed
}

// Rank is one scheduler with its pool. It is not safe for concurrent use.
type Rank interface {
	// Refuse is the front end: why the request can never be served, "" if it can.
	// A refused request must not be submitted.
	Refuse(r *Request) string
	// Submit queues a request; it decides nothing. r may be reused afterwards.
	Submit(r *Request)
	// Cancel removes a request wherever it is and releases its blocks. The tokens it
	// reports include those of passes that are not complete, which nobody will see.
	// It is false if the rank does not have the request.
	Cancel(row int32, fx *Effects) bool

	// Abandon reports the tokens of all running requests as Cancel does. The rank is
	// of no use afterwards.
	Abandon(fx *Effects)

	// Depth is how many passes may be decided before the oldest is complete.
	Depth() int
	// Schedule decides the next pass.
	Schedule(p *Pass, fx *Effects) Decision
	// Complete applies the results of the n oldest passes that are not complete.
	Complete(n int, fx *Effects)
	// NextEffect is the first decided pass that is not complete in which a request
	// ends, or, if first is set, gets its first token.
	NextEffect(first bool) (pass int, ok bool)

	// Stretch describes the next at most limit passes if they are nothing but
	// decodes and have no effect except that the last one may end requests; it is
	// false if the next pass has to be decided by Schedule. With depth d it may be
	// called when d−1 passes are decided and not complete, or fewer.
	Stretch(limit int, s *Stretch) bool
	// Skip decides the first n passes of the stretch just described. They too have
	// to be completed.
	Skip(n int)
	// Quiet is whether a request submitted now could not change what is decided
	// next: admission waits for something to end.
	Quiet() bool
	// Stuck names a request that can never be admitted though nothing runs, and
	// why; false if there is none. It may be asked after Schedule decided nothing.
	Stuck() (row int32, reason string, ok bool)

	Load() Load
	// Resident is how many leading tokens of the prompt are in the pool.
	Resident(prompt *token.Seq) int
}

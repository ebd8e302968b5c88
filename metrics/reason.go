package metrics

import (
	"slices"
	"strings"
)

// Reason is why a request did not run, or not as it asked. In a [Row] it may be
// followed by a detail: "needs_blocks: 75 of 63".
type Reason = string

// All reasons there are.
const (
	NoBucket          Reason = "no_bucket"          // no bucket takes prompts of this length
	NeedsBlocks       Reason = "needs_blocks"       // its tokens need more KV blocks than there are
	NeedsBudget       Reason = "needs_budget"       // its prompt is longer than a pass may be, and may not be split
	EmptyPrompt       Reason = "empty_prompt"       // no input tokens
	EmptyOutput       Reason = "empty_output"       // no output tokens asked for
	MaxModelLen       Reason = "max_model_len"      // the prompt leaves no room for a token
	ContextClipped    Reason = "context_clipped"    // completed, with fewer tokens than asked for: the context was full
	TimeCap           Reason = "time_cap"           // limits.max_sim_time_ms was reached
	Limit             Reason = "limit"              // limits.requests was reached
	Interrupted       Reason = "interrupted"        // somebody stopped the run
	PredecessorFailed Reason = "predecessor_failed" // what it waits for did not complete
	ClientCancelled   Reason = "client_cancelled"   // its client went away
)

var reasons = []Reason{NoBucket, NeedsBlocks, NeedsBudget, EmptyPrompt, EmptyOutput, MaxModelLen, ContextClipped,
	TimeCap, Limit, Interrupted, PredecessorFailed, ClientCancelled}

// Reasons lists all reasons.
func Reasons() []Reason { return slices.Clone(reasons) }

// Code is a row's reason without its detail. ok says whether it is one of
// [Reasons].
func Code(reason string) (code Reason, ok bool) {
	code, _, _ = strings.Cut(reason, ": ")
	return code, slices.Contains(reasons, code)
}

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

	// Of runs on real servers.
	UnknownTokens     Reason = "unknown_tokens"     // the trace lacks the token ids that it would have to send
	OutsideVocabulary Reason = "outside_vocabulary" // a token id that the model does not have
	Unsupported       Reason = "unsupported"        // recorded with something that cannot be repeated exactly
	ServerRefused     Reason = "server_refused"     // the server would not serve it
	ServerError       Reason = "server_error"       // the server tried and failed
	Unreachable       Reason = "unreachable"        // there was no connection to the server
	BrokenStream      Reason = "broken_stream"      // the answer ended early or made no sense
	Stalled           Reason = "stalled"            // nothing came for too long
	TimedOut          Reason = "timed_out"          // it took too long as a whole
)

var reasons = []Reason{NoBucket, NeedsBlocks, NeedsBudget, EmptyPrompt, EmptyOutput, MaxModelLen, ContextClipped,
	TimeCap, Limit, Interrupted, PredecessorFailed, ClientCancelled,
	UnknownTokens, OutsideVocabulary, Unsupported, ServerRefused, ServerError, Unreachable, BrokenStream, Stalled, TimedOut}

// Reasons lists all reasons.
func Reasons() []Reason { return slices.Clone(reasons) }

// Code is a row's reason without its detail. ok says whether it is one of
// [Reasons].
func Code(reason string) (code Reason, ok bool) {
	code, _, _ = strings.Cut(reason, ": ")
	return code, slices.Contains(reasons, code)
}

package graph

import (
	"encoding/json"
	"math"
	"sort"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// item is what becomes a node: a call, a tool run or a wait. Times are ms from the
// start of the recording.
type item struct {
	kind       trace.Kind
	call       *journal.Call // nil unless it is a call
	mark       *journal.Mark // of a tool run that the agent marked
	id, name   string
	session    string
	family     *family
	start, end float64
	after      []link
	args       json.RawMessage
	result     json.RawMessage
	attempt    int32
	evidence   string
	open       bool // nothing waits for it yet
	ended      bool // a tool run whose end is marked
	order      int  // number among all calls
	placed     int  // number among all nodes in the order in which they were found, 0 until then
	// Of calls: tokens, and what they go on from.
	input, output *token.Seq
	inputTokens   int32
	outputTokens  int32
	extends       *item
	keep          int32
	index         int32 // among the nodes of its task
}

// link is an edge to an item that comes before.
type link struct {
	from     *item
	trigger  trace.Trigger
	atOutput int32
	delayMs  float64
	inferred bool
}

// Evidence for what a call goes on from, the strongest first. The sidecar of a trace
// says which one was used.
const (
	Stated   = "stated"   // the agent said so, in a header or a mark
	Response = "response" // the request names the response that it continues
	ToolIDs  = "tool_ids" // the request holds results of tool calls of that answer
	Said     = "messages" // the request repeats that conversation and its answer
	Talked   = "prompt"   // the request repeats that conversation, with another answer
	Prefix   = "tokens"   // the prompt begins with that call's prompt
	Order    = "order"    // it was the last one of the session
	First    = "first"    // it goes on from nothing
)

// written is how many output tokens of a call had come at a time.
func (it *item) written(at float64) (tokens int32, lastMs float64) {
	if it.call == nil || len(it.call.ChunkIDs) != len(it.call.ChunkMs) {
		return 0, it.start
	}
	n := sort.Search(len(it.call.ChunkMs), func(i int) bool { return it.call.ChunkMs[i] > at })
	for i := range n {
		tokens += it.call.ChunkIDs[i]
		lastMs = it.call.ChunkMs[i]
	}
	return min(tokens, it.outputTokens), lastMs
}

// wait makes it wait for others. The one that fires last gets the pause that is left,
// so that a replay waits as long as was recorded once all are there.
func (it *item) wait(inferred bool, others ...*item) {
	first := len(it.after)
	latest, at := -1, math.Inf(-1)
	for _, o := range others {
		l, fired := it.linkTo(o)
		if fired > it.start || o.placed == 0 || it.waitsFor(o) { // nobody waits for what is not there yet
			continue
		}
		l.inferred = inferred
		it.after = append(it.after, l)
		o.open = false
		if fired > at {
			latest, at = len(it.after)-1, fired
		}
	}
	if latest >= first {
		it.after[latest].delayMs = round(it.start - at)
	}
}

func (it *item) waitsFor(o *item) bool {
	for _, l := range it.after {
		if l.from == o {
			return true
		}
	}
	return false
}

// linkTo is an edge to another item and when it fired: at its end, or if it had not
// ended, at the last output that had come, or at its start.
func (it *item) linkTo(o *item) (link, float64) {
	if o.end <= it.start {
		return link{from: o, trigger: trace.Completion}, o.end
	}
	if n, at := o.written(it.start); n > 0 {
		return link{from: o, trigger: trace.Output, atOutput: n}, at
	}
	return link{from: o, trigger: trace.Dispatch}, o.start
}

// round is ms in whole microseconds (DESIGN.md 3).
func round(ms float64) float64 { return math.Round(ms*1000) / 1000 }

package graph

import (
	"cmp"
	"slices"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// Recording is what a journal says, put together.
type Recording struct {
	Tasks []*trace.Task // in order of release
	Calls []Call        // all that ended, in the order of their starts
	// Model is the model of all calls, "" if there are several.
	Model string
	// InFlight counts calls that began and did not end, Lost entries that could not be
	// written, Why the reasons. Torn counts broken lines. Ended is whether the
	// recording ended in order.
	InFlight, Lost, Torn int
	Why                  string
	Ended                bool
	Unrecorded           int      // requests to other endpoints
	Notes                []string // what a person should know, one line each
}

// Call is a call and what became of it.
type Call struct {
	*journal.Call
	Node     string // "" if it is not in the trace
	LeftOut  string // why it is not
	Evidence string // for what it goes on from
	// Extends is the seq of the call whose tokens its prompt keeps, 0 if none.
	Extends int64
	Keep    int32
	// InputFrom and OutputFrom say where its token ids are from, "" if it has none.
	InputFrom, OutputFrom string
}

// Reasons for which calls are left out.
const (
	outFailed  = "failed"          // it gave no answer
	outRetried = "retried"         // the same request was sent again
	outNothing = "cancelled"       // the client hung up before there was any output
	outBatched = "several_prompts" // a trace has no node for it
	outLengths = "unknown_lengths" // neither ids nor usage say how long it was
)

// Build makes tasks of a journal.
func Build(j *journal.Journal) *Recording {
	b := newBuilder(j)
	b.decode()
	b.marks()
	for _, it := range b.calls {
		b.place(it)
	}
	b.finishTools()
	r := &b.recording
	r.Torn = j.Torn
	r.Tasks = b.tasks()
	for _, it := range b.all {
		r.Calls = append(r.Calls, b.report(it))
	}
	return r
}

// builder is the work in hand.
type builder struct {
	journal   *journal.Journal
	recording Recording
	all       []*item // all calls, also those that are left out, by start
	calls     []*item // those that become nodes, by start
	tools     []*item // of marks, by start
	items     []*item // all that become nodes
	bySeq     map[int64]*item
	out       map[*item]string // why calls are left out
	ids       map[int64]*journal.IDs
	contexts  map[int64]*context
	families  families
	names     map[string][]*item // what marks and headers may refer to
	used      map[string]bool    // ids of nodes
	counts    map[string]int     // calls so far, by session
	index     index
	invoked   map[string]*journal.Mark   // invocations, by the call that they announce
	joins     map[string][]*journal.Mark // that wait for a call, by session
	spawns    map[string]*journal.Mark   // by the session that they start
}

func newBuilder(j *journal.Journal) *builder {
	return &builder{
		journal: j, bySeq: map[int64]*item{}, out: map[*item]string{}, ids: map[int64]*journal.IDs{}, contexts: map[int64]*context{},
		families: newFamilies(), names: map[string][]*item{}, used: map[string]bool{}, counts: map[string]int{}, index: newIndex(),
		invoked: map[string]*journal.Mark{}, joins: map[string][]*journal.Mark{}, spawns: map[string]*journal.Mark{},
	}
}

// decode sorts the entries into calls and remarks.
func (b *builder) decode() {
	r := &b.recording
	begun := 0
	for i := range b.journal.Entries {
		switch e := &b.journal.Entries[i]; {
		case e.Begin != nil:
			begun++
		case e.Call != nil:
			begun--
			c := e.Call
			it := &item{kind: trace.LLM, call: c, start: c.StartMs, end: max(c.EndMs, c.StartMs), attempt: c.Retry, open: true}
			b.bySeq[c.Seq] = it
			b.all = append(b.all, it)
			if c.IDs != nil {
				b.ids[c.Seq] = c.IDs
			}
		case e.IDs != nil:
			b.ids[e.IDs.Seq] = e.IDs
		case e.Lost != nil:
			r.Lost += e.Lost.Entries
			r.Why = e.Lost.Why
		case e.End != nil:
			r.Ended, r.Unrecorded = true, e.End.Unrecorded
		}
	}
	r.InFlight = max(0, begun)
	slices.SortStableFunc(b.all, byStart)
	for i, it := range b.all {
		it.order = i
	}
	b.tokens()
	b.choose()
	b.model()
}

func byStart(a, b *item) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
}

// choose picks the calls that become nodes.
func (b *builder) choose() {
	again := map[uint64]*item{} // the next call with the same request
	for _, it := range slices.Backward(b.all) {
		c := it.call
		next := again[c.Body]
		if c.Body != 0 {
			again[c.Body] = it
		}
		switch retried := next != nil && next.start >= it.end && next.call.Who.Session == c.Who.Session; {
		case c.Outcome != journal.Done && retried:
			b.out[it] = outRetried
			next.attempt = max(next.attempt, it.attempt+1)
		case c.Outcome == journal.Failed:
			b.out[it] = outFailed
		case c.Outcome == journal.Cancelled && it.outputTokens <= 0:
			b.out[it] = outNothing
		case c.Batched:
			b.out[it] = outBatched
		case it.inputTokens < 0 || it.outputTokens < 0:
			b.out[it] = outLengths
		}
	}
	// An attempt counts those before it, so the numbers go up in order of time.
	last := map[uint64]*item{}
	for _, it := range b.all {
		if p := last[it.call.Body]; p != nil && b.out[p] == outRetried {
			it.attempt = max(it.attempt, p.attempt+1)
		}
		last[it.call.Body] = it
		if b.out[it] == "" {
			b.calls = append(b.calls, it)
		}
	}
}

// model finds the model of all calls.
func (b *builder) model() {
	for i, it := range b.calls {
		if m := it.call.Model; i == 0 {
			b.recording.Model = m
		} else if m != b.recording.Model {
			b.recording.Model = ""
			return
		}
	}
}

// place finds the session, the name and the predecessors of a call. Calls come in the
// order of their starts.
func (b *builder) place(it *item) {
	b.join(it)
	b.nameCall(it)
	if !b.stated(it) {
		b.infer(it)
	}
	b.goOn(it)
	b.index.add(it)
	it.family.calls = append(it.family.calls, it)
	b.put(it)
}

// put makes a node of an item. Nodes wait for those that were put before.
func (b *builder) put(it *item) {
	b.items = append(b.items, it)
	it.placed = len(b.items)
}

// report says what became of a call.
func (b *builder) report(it *item) Call {
	c := Call{Call: it.call, LeftOut: b.out[it], Evidence: it.evidence}
	c.InputFrom, c.OutputFrom = b.from(it)
	if c.LeftOut != "" {
		return c
	}
	c.Node = it.id
	if it.extends != nil {
		c.Extends, c.Keep = it.extends.call.Seq, it.keep
	}
	return c
}

package paged

import (
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/token"
)

// state says in which list a request is and what it does in a pass.
type state uint8

const (
	unused   state = iota
	waiting        // in the waiting queue, holds nothing
	partial        // running; more of it is known than computed
	decoding       // running; one token a pass, part of the sums in decodes
	leaving        // running; its last token is decided, not received
	departed       // leaving, and preempted meanwhile
	loading        // waits for blocks from a lower tier, which it holds
	loaded         // has them, waits for its admission
)

// request is a live request of the rank. Requests live in slots that are reused.
//
// Token counts run ahead of what has been received: outputs are counted when the
// pass that yields them is decided. For a decoding request computed and outputs
// are those at the start of pass join; later passes follow from it.
type request struct {
	row      int32
	prompt   int32
	limit    int32 // outputs it may generate
	priority int32
	arrival  float64
	id       string
	content  *token.Seq // of the prompt; nil if unknown
	named    *token.Seq // of the output, if others may look it up

	state    state
	again    bool  // has been admitted before
	starved  bool  // partial: it would decode, but the budget did not reach it
	computed int32 // tokens whose KV exists or is being written
	reserved int32 // blocks set aside for a load, in use or not
	outputs  int32 // tokens generated
	join     int   // first pass as decoding, later the pass in which it stopped
	order    int   // position in the running list: later admissions have larger ones
	ahead    int32 // partial: decoding requests that stand before it
	stamp    int   // last step that served it in a walk

	// lag: the newest computed token came from decoding; lastToken is the pass of
	// the newest output;
	// see extentAt.
	lag       bool
	lastToken int

	// The current unbroken run of tokens, one a pass: it began in pass runFrom with
	// output runBase + 1. A run is open if outputs > runBase.
	runFrom int
	runBase int32

	prev, next int32 // neighbours in the running list

	lease kvcache.Lease
}

// outputsAt is the number of outputs at the start of pass p.
func (q *request) outputsAt(p int) int32 {
	if q.state == decoding {
		return q.outputs + int32(p-q.join)
	}
	return q.outputs
}

// computedAt is the number of computed tokens at the start of pass p.
func (q *request) computedAt(p int) int32 {
	if q.state == decoding {
		return q.computed + int32(p-q.join)
	}
	return q.computed
}

// known is the number of tokens that exist or are being generated.
func (q *request) known() int32 { return q.prompt + q.outputs }

// lastDecode is the pass in which a decoding request gets its last token.
func (q *request) lastDecode() int { return q.join + int(q.limit-q.outputs) - 1 }

// held is how many blocks a running request holds when n of its tokens are
// computed.
func (r *Rank) held(q *request, n int32) int32 { return max(r.blocks(n), q.reserved) }

// blocks is how many blocks n tokens need.
func (r *Rank) blocks(n int32) int32 {
	return int32((uint32(n) + uint32(r.blockSize) - 1) / uint32(r.blockSize))
}

// slot takes in a request.
func (r *Rank) slot(e *engine.Request) int32 {
	q := request{
		row: e.Row, prompt: e.InputTokens, limit: r.limit(e), priority: e.Priority, arrival: e.Arrival, id: e.ID,
		content: e.Prompt, named: e.Output, state: waiting, prev: none, next: none, lastToken: -1,
	}
	q.lease.Grows = e.Output != nil && r.caching
	if n := len(r.unused); n > 0 {
		s := r.unused[n-1]
		r.unused = r.unused[:n-1]
		r.requests[s] = q
		return s
	}
	r.requests = append(r.requests, q)
	return int32(len(r.requests) - 1)
}

// drop forgets a request that is in no list any more.
func (r *Rank) drop(s int32) {
	r.requests[s] = request{}
	r.unused = append(r.unused, s)
}

// limit is how many tokens a request may generate.
func (r *Rank) limit(e *engine.Request) int32 {
	if r.maxModelLen > 0 {
		return max(0, min(e.MaxTokens, r.maxModelLen-e.InputTokens))
	}
	return e.MaxTokens
}

// nameBlocks makes sure that the words of q's first full blocks are known. What
// the trace does not tell apart belongs to q alone.
func (r *Rank) nameBlocks(q *request, full int32) {
	if q.lease.Words == nil {
		seq := q.content
		if seq != nil && q.named != nil {
			seq = seq.Extend(int(q.prompt), q.named)
		}
		if seq != nil {
			q.lease.Words = seq.Words(r.room(seq.Len()/int(r.blockSize)), int(r.blockSize))
		}
	}
	if have := int32(len(q.lease.Words)); have < full {
		own := token.Stream(uint64(q.row)*2+1, int(full*r.blockSize)).Words(nil, int(r.blockSize))
		q.lease.Words = append(q.lease.Words, own[have:full]...)
	}
}

// room is an empty slice for n words. Words of several requests share an array,
// which lives as long as the cache remembers one of them.
func (r *Rank) room(n int) []uint64 {
	if n > len(r.words) {
		r.words = make([]uint64, max(n, 1024))
	}
	w := r.words[:0:n]
	r.words = r.words[n:]
	return w
}

// list is the running list, in order of admission.
type list struct {
	head, tail int32
	n          int
}

// none is no request.
const none int32 = -1

func (r *Rank) append(s int32) {
	q := &r.requests[s]
	r.orders++
	q.order = r.orders
	q.prev, q.next = r.running.tail, none
	if r.running.tail == none {
		r.running.head = s
	} else {
		r.requests[r.running.tail].next = s
	}
	r.running.tail = s
	r.running.n++
}

func (r *Rank) unlink(s int32) {
	q := &r.requests[s]
	if q.prev == none {
		r.running.head = q.next
	} else {
		r.requests[q.prev].next = q.next
	}
	if q.next == none {
		r.running.tail = q.prev
	} else {
		r.requests[q.next].prev = q.prev
	}
	q.prev, q.next = none, none
	r.running.n--
}

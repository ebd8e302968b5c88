package cluster

import (
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

// Instance is one replica: a rank on a device, with the log of its passes. It is
// not safe for concurrent use, but different instances may run in parallel.
type Instance struct {
	bucket, id int32

	rank   engine.Rank
	tiered engine.Tiered // the rank, if it has tiers below its pool
	tiers  *tiers        // of its bucket; nil: none
	depth  int

	blockSize int32 // tokens
	model     latency.Model
	hostMs    float64 // added to each pass
	ledger    *metrics.Ledger
	passes    PassObserver // nil: nobody
	oneEnd    [1]float64   // scratch of lastEnd
	// singly: each pass is decided by itself; preempted counts for the one to come.
	singly    bool
	preempted int
	// draining: it takes no requests and serves no blocks any more.
	draining bool
	// everyPass: somebody wants to look after each pass.
	everyPass bool

	log  metrics.PassLog
	gaps metrics.Gaps

	inbox    inbox
	expected struct{ requests, tokens int } // routed to it, still on their way
	nowMs    float64                        // the last instant at which something happened
	// due: a decision has to be made at nowMs.
	due bool
	// sealed: an empty step stands in the queue of decided passes; it is processed
	// together with the pass in front of it (spec/vllm-real.md 7.1).
	sealed   bool
	decided  int     // passes in the log
	complete int     // passes whose results have been applied
	endMs    float64 // end of the last decided pass
	plan     plan

	pass  engine.Pass
	fx    engine.Effects
	seen  engine.Effects // of look, in the midst of a Schedule too
	ended []Ended
	tells routing.Needs // what the placement wants to be told
	told  []engine.Event

	busyMs     float64                        // busy times that are over: passes without a gap between them
	busyFromMs float64                        // begin of the one that endMs ends
	sampled    struct{ atMs, busyMs float64 } // at the last sample
	err        error
}

// Ended is a request that has ended, for the client.
type Ended struct {
	Row          int32
	Status       metrics.Status
	OutputTokens int32
	AtMs         float64
}

// Equipment is what an instance is made of.
type Equipment struct {
	Rank      engine.Rank
	BlockSize int // tokens in a KV block
	Model     latency.Model
	HostMs    float64 // host time added to each pass
	Ledger    *metrics.Ledger
	Passes    PassObserver // is told every pass; nil: nobody
	// Singly makes Passes be told one pass at a time, with what stood behind its
	// decision. Results are the same.
	Singly bool
}

// NewInstance is an idle instance.
func NewInstance(bucket, id int32, e Equipment) *Instance {
	return &Instance{
		bucket: bucket, id: id, rank: e.Rank, depth: e.Rank.Depth(), blockSize: int32(max(e.BlockSize, 1)),
		model: e.Model, hostMs: e.HostMs, ledger: e.Ledger, passes: e.Passes, singly: e.Singly,
		nowMs: math.Inf(-1),
	}
}

// Submit hands over a request that arrives at atMs, which may lie ahead; times must
// not go back. It goes through the front end: one that can never be served ends
// here as rejected.
func (in *Instance) Submit(r *engine.Request, atMs float64) {
	row := in.ledger.Row(r.Row)
	row.Bucket, row.Instance = in.bucket, in.id
	if reason := in.rank.Refuse(r); reason != "" {
		in.end(r.Row, metrics.Rejected, reason, atMs)
		return
	}
	row.SubmitMs = atMs
	in.inbox.push(submission{atMs, *r})
	in.forgetPlan()
}

// Cancel ends a request at nowMs, to which the instance has been advanced.
func (in *Instance) Cancel(row int32, status metrics.Status, reason string, nowMs float64) bool {
	in.fx.Reset()
	if !in.inbox.remove(row) && !in.rank.Cancel(row, &in.fx) {
		return false
	}
	in.plan.drop()
	in.apply(nowMs)
	in.end(row, status, reason, nowMs)
	in.wake(nowMs)
	return true
}

// wake makes an instance without a pass in flight decide at nowMs.
func (in *Instance) wake(nowMs float64) {
	if in.decided == in.complete {
		in.nowMs, in.due = nowMs, true
	}
}

// Abandon ends all open requests of the instance at nowMs, to which it has been
// advanced. It can only be asked for its statistics afterwards.
func (in *Instance) Abandon(status metrics.Status, reason string, nowMs float64) {
	in.fx.Reset()
	in.rank.Abandon(&in.fx)
	in.apply(nowMs)
	in.endMs = max(in.busyFromMs, min(in.endMs, nowMs)) // passes in flight are cut short
	in.ledger.OpenRows(func(n int32, r *metrics.Row) {
		if r.Bucket == in.bucket && r.Instance == in.id {
			in.end(n, status, reason, nowMs)
		}
	})
}

// expect adds n times a request to those that are on their way to the instance.
func (in *Instance) expect(r *engine.Request, n int) {
	in.expected.requests += n
	in.expected.tokens += n * int(r.InputTokens)
}

// Load is the state at nowMs, to which the instance has been advanced. Requests on
// their way wait, and so do those that have arrived and have not been looked at.
func (in *Instance) Load(nowMs float64) engine.Load {
	l := in.rank.Load()
	l.Waiting += in.expected.requests
	l.PrefillTokens += in.expected.tokens
	for i := 0; i < in.inbox.len() && in.inbox.at(i).atMs <= nowMs; i++ {
		l.Waiting++
		l.PrefillTokens += int(in.inbox.at(i).request.InputTokens)
	}
	return l
}

// Resident is how many leading tokens of the prompt the instance holds.
func (in *Instance) Resident(prompt *token.Seq) int { return in.rank.Resident(prompt) }

// Use is what the instance has done.
func (in *Instance) Use() metrics.Use {
	return metrics.Use{Bucket: in.bucket, Instance: in.id, Passes: int64(in.decided), BusyMs: in.busyUntil(math.Inf(1)), Gaps: &in.gaps}
}

// Sample looks at the instance at nowMs, at the end of that instant.
func (in *Instance) Sample(nowMs float64) (metrics.Sample, error) {
	if err := in.Finish(nowMs); err != nil {
		return metrics.Sample{}, err
	}
	l, busy := in.Load(nowMs), in.busyUntil(nowMs)
	s := metrics.Sample{
		TimeMs: nowMs, Bucket: in.bucket, Instance: in.id,
		Queue: int32(l.Waiting), Running: int32(l.Running), KVUsed: int32(l.BlocksUsed), KVTotal: int32(l.BlocksTotal),
	}
	if past := nowMs - in.sampled.atMs; past > 0 {
		s.BusyFraction = min(max(0, (busy-in.sampled.busyMs)/past), 1)
	}
	if in.tiers != nil {
		in.look(in.decided, in.nowMs)
		s.L1Used = in.tiers.dir.HostUsed(in.id)
	}
	in.sampled.atMs, in.sampled.busyMs = nowMs, busy
	return s, nil
}

// busyUntil is the device time used up to nowMs.
func (in *Instance) busyUntil(nowMs float64) float64 {
	return in.busyMs + (min(in.endMs, nowMs) - in.busyFromMs)
}

// Bucket and ID name the instance.
func (in *Instance) Bucket() int32 { return in.bucket }
func (in *Instance) ID() int32     { return in.id }

// Fold lets go of passes that no open request reaches back to; see
// [metrics.PassLog.Fold].
func (in *Instance) Fold(all bool) *metrics.Gaps {
	in.log.Fold(&in.gaps, all)
	return &in.gaps
}

// apply turns effects into the lives of requests.
func (in *Instance) apply(nowMs float64) {
	for i := range in.fx.Blocks {
		e := &in.fx.Blocks[i]
		at := nowMs
		if e.Kind == engine.Stored {
			at = in.log.End(e.Pass)
		}
		in.tiers.note(in, e, at)
	}
	for i := range in.fx.Events {
		e := &in.fx.Events[i]
		row := in.ledger.Row(e.Row)
		switch e.Kind {
		case engine.Admitted:
			row.Admit(nowMs, e.N)
			in.countTiers(row)
			in.tell(routing.Admission, e)
		case engine.Preempted:
			row.Preemptions++
		case engine.First:
			row.First(e.Pass, &in.log)
			in.tell(routing.FirstToken, e)
		case engine.Tokens:
			row.Tokens(e.Pass, e.N)
		case engine.Finished:
			in.end(e.Row, metrics.Completed, "", in.log.End(e.Pass))
		case engine.Rejected:
			in.end(e.Row, metrics.Rejected, e.Reason, in.log.End(e.Pass))
		}
	}
}

// countTiers says where the blocks of a prompt came from that is admitted for the
// first time.
func (in *Instance) countTiers(row *metrics.Row) {
	t := &row.Tiers
	if row.Admissions > 1 {
		return
	}
	if t.L0 < 0 { // it did not wait for a load
		t.L0, t.L1, t.Remote = row.CachedTokens/in.blockSize, 0, 0
	}
	t.Miss = row.InputTokens/in.blockSize - t.L0 - t.L1 - t.Remote
}

// look takes in what happened to the instance's blocks. Evictions since pass first
// was decided, at firstMs, have not been told.
func (in *Instance) look(first int, firstMs float64) {
	if in.tiered == nil {
		return
	}
	in.seen.Reset()
	in.tiered.Look(&in.seen)
	for i := range in.seen.Blocks {
		e := &in.seen.Blocks[i]
		at := firstMs
		switch {
		case e.Kind == engine.Stored:
			at = in.log.End(e.Pass)
		case e.Pass > first:
			at = in.log.End(e.Pass - in.depth)
		}
		in.tiers.note(in, e, at)
	}
}

// end closes the row of a request.
func (in *Instance) end(n int32, status metrics.Status, reason string, atMs float64) {
	row := in.ledger.Row(n)
	row.End(status, reason, atMs, &in.log, &in.gaps, in.ledger.KeepTokens)
	if status == metrics.Completed && row.OutputTokens < row.RequestedTokens {
		row.Reason = metrics.ContextClipped
	}
	in.ended = append(in.ended, Ended{n, status, row.OutputTokens, atMs})
	in.tell(routing.Ends, &engine.Event{Kind: engine.Finished, Row: n})
}

// tell notes an effect that the placement wants to be told.
func (in *Instance) tell(need routing.Needs, e *engine.Event) {
	if in.tells&need != 0 {
		in.told = append(in.told, *e)
	}
}

// Ended hands over the requests that have ended since it was last asked.
func (in *Instance) Ended(visit func(Ended)) {
	for _, e := range in.ended {
		visit(e)
	}
	in.ended = in.ended[:0]
}

// submission is a request on its way to the rank.
type submission struct {
	atMs    float64
	request engine.Request
}

// inbox holds submissions in order of time.
type inbox struct {
	list []submission
	head int
}

func (b *inbox) len() int             { return len(b.list) - b.head }
func (b *inbox) at(i int) *submission { return &b.list[b.head+i] }
func (b *inbox) push(s submission)    { b.list = append(b.list, s) }
func (b *inbox) nextMs() float64 {
	if b.len() == 0 {
		return math.Inf(1)
	}
	return b.list[b.head].atMs
}

func (b *inbox) pop() *submission {
	s := &b.list[b.head]
	if b.head++; b.head == len(b.list) {
		b.list, b.head = b.list[:0], 0
	}
	return s
}

func (b *inbox) remove(row int32) bool {
	for i := b.head; i < len(b.list); i++ {
		if b.list[i].request.Row == row {
			b.list = append(b.list[:i], b.list[i+1:]...)
			return true
		}
	}
	return false
}

package metrics

import (
	"math"
	"slices"
)

// Status is how a request stands or ended.
type Status uint8

const (
	Open       Status = iota // offered, not ended
	Completed                // ended as it should
	Rejected                 // refused: it can never be served
	Failed                   // it or what it waits for went wrong
	Cancelled                // by its client
	Unfinished               // the run ended first
)

var statusNames = [...]string{"open", "completed", "rejected", "failed", "cancelled", "unfinished"}

func (s Status) String() string { return statusNames[s] }

// ParseStatus is the status of that name.
func ParseStatus(name string) (Status, bool) {
	i := slices.Index(statusNames[:], name)
	return Status(max(i, 0)), i >= 0
}

// Label is what the trace says about a request.
type Label struct {
	Request, Task, Session string
	Turn                   int32 // position in its session, from 0
	Line                   int32 // 1-based line of the input
}

// Row is the life of one offered request. Whoever serves it writes the moments as
// they happen and ends it with [Row.End].
type Row struct {
	// What is written while the request is served stands first, within two cache
	// lines: rows of one instance are far apart.

	ArrivalMs float64 // released by the driver
	SubmitMs  float64 // handed to the instance: arrival + routing delay
	AdmitMs   float64 // first admission by a scheduler
	FirstMs   float64 // first output token
	SecondMs  float64 // second output token
	LastMs    float64 // last output token
	EndMs     float64

	run   run // the last run of tokens; n is 0 if there is none
	first int // pass of the first token

	InputTokens     int32
	OutputTokens    int32 // received
	RequestedTokens int32
	CachedTokens    int32 // from a cache, at the first admission
	CachedMax       int32 // largest of all admissions
	Preemptions     int32
	Admissions      int32

	// Bucket and Instance are where it was sent, -1 is nowhere; Rank is the
	// instance's attention data-parallel rank.
	Bucket, Instance, Rank int32

	Status Status
	pinned bool // first is pinned in the log

	Reason string // why it did not complete, or not in full: a [Reason], perhaps with a detail
	runs   []run  // runs of tokens before the last one
	// TokenMs are the times of all output tokens if the ledger keeps them.
	TokenMs []float64
	// Tiers is where the prompt's blocks came from.
	Tiers Tiers

	Label
}

// Tiers is where the full blocks of a prompt came from (spec/buckets.md 6, 8).
// Counts that nobody knows are -1; L0, L1, Remote and Miss are known together and
// add up to the prompt's full blocks.
type Tiers struct {
	PredictedPrefix      int32 // blocks that the chosen bucket promised
	L0, L1, Remote, Miss int32 // at the first admission
	RemoteStale          int32 // promised by another instance and gone, over all loads; never unknown
	LengthMatch          Match
	LoadWaitMs           float64 // from the begin of a load to its end, over all loads; never unknown
}

// Match is whether a request is in the bucket that its length suggests.
type Match uint8

const (
	NoHome  Match = iota // no bucket's range holds its length
	Matched              // it is
	Strayed              // it is in another one
)

// run is n tokens, one a pass, from a pass of the request's instance on.
type run struct {
	from int
	n    int32
}

// reset makes r the row of a request that has just arrived.
func (r *Row) reset(l Label, arrivalMs float64, input, requested int32) {
	nan := math.NaN()
	*r = Row{
		Label: l, Bucket: -1, Instance: -1,
		ArrivalMs: arrivalMs, SubmitMs: nan, AdmitMs: nan, FirstMs: nan, SecondMs: nan, LastMs: nan, EndMs: nan,
		InputTokens: input, RequestedTokens: requested,
		Tiers: Tiers{PredictedPrefix: -1, L0: -1, L1: -1, Remote: -1, Miss: -1},
	}
}

// Admit notes an admission with the number of tokens that came from a cache.
func (r *Row) Admit(atMs float64, cached int32) {
	if r.Admissions == 0 {
		r.AdmitMs = atMs
		r.CachedTokens = cached
	}
	r.CachedMax = max(r.CachedMax, cached)
	r.Admissions++
}

// Tokens notes n output tokens, one a pass, from pass from of the instance's log
// on.
func (r *Row) Tokens(from int, n int32) {
	if r.run.n > 0 {
		r.runs = append(r.runs, r.run)
	}
	r.run = run{from, n}
}

// Runs visits the runs of output tokens that have been noted and not resolved, in
// order: n tokens, one a pass, from pass from on.
func (r *Row) Runs(visit func(from int, n int32)) {
	for _, n := range r.runs {
		visit(n.from, n.n)
	}
	if r.run.n > 0 {
		visit(r.run.from, r.run.n)
	}
}

// QueueMs is the wait for the first admission.
func (r *Row) QueueMs() float64 { return r.AdmitMs - r.SubmitMs }

// PrefillMs is the time from the first admission to the first token.
func (r *Row) PrefillMs() float64 { return r.FirstMs - r.AdmitMs }

// TTFTMs is the time to first token, routing and queueing included.
func (r *Row) TTFTMs() float64 { return r.FirstMs - r.ArrivalMs }

// TTSTMs is the time from the first to the second token.
func (r *Row) TTSTMs() float64 { return r.SecondMs - r.FirstMs }

// TPOTMs is the mean time per output token after the first; NaN below two tokens.
func (r *Row) TPOTMs() float64 {
	if r.OutputTokens < 2 {
		return math.NaN()
	}
	return (r.LastMs - r.FirstMs) / float64(r.OutputTokens-1)
}

// E2EMs is the time from arrival to the last token.
func (r *Row) E2EMs() float64 { return r.LastMs - r.ArrivalMs }

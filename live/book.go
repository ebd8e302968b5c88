package live

import (
	"errors"
	"math"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
)

// book is where a repetition is written down: rows and figures as those of a
// simulation, and what only a live run has. It belongs to the goroutine of the loop.
type book struct {
	mode    force.Mode
	stream  bool // answers come piece by piece
	targets []*target

	ledger metrics.Ledger
	tally  *metrics.Tally
	gaps   []metrics.Gaps // by target
	lives  map[int32]*rundir.LiveCall
	files  *files // nil if no files are written

	fidelity Fidelity
	failures Failures
	lags     []float64
	cached   bool // some answer said how much came from a cache
	tasks    taskBook

	ended, tokens int // calls, output tokens
	tickMs        float64
	tickTokens    int
	tickLagMs     float64
	err           error
}

// files are those that a run writes as it goes on.
type files struct {
	requests *rundir.Requests
	calls    *rundir.Lines[callLine]
	tools    *rundir.Lines[toolLine]
}

// newFiles starts the files of a run.
func newFiles(d *rundir.Draft, router string) (*files, error) {
	if d == nil {
		return nil, nil
	}
	var f files
	var errs [3]error
	f.requests, errs[0] = d.LiveRequests(rundir.Routing{Buckets: []string{bucket}, LocalPolicy: router})
	f.calls, errs[1] = rundir.NewLines(d, rundir.CallsFile, appendLine[callLine])
	f.tools, errs[2] = rundir.NewLines(d, rundir.ToolsFile, appendLine[toolLine])
	return &f, errors.Join(errs[:]...)
}

// bucket is the name of the only bucket, as in simulations without any.
const bucket = "default"

// arrive opens the row of a call that has been released.
func (b *book) arrive(f *flight) int32 {
	n := f.n
	b.tasks.begin(f.Task, f.ReadyMs)
	row := b.ledger.Open(metrics.Label{Request: n.ID, Task: f.Task.ID, Session: n.Session, Turn: n.Turn, Line: n.Line}, f.ReadyMs, n.InputTokens, n.OutputTokens)
	nan := math.NaN()
	b.lives[row] = &rundir.LiveCall{LagMs: nan, WrittenMs: nan, FirstByteMs: nan, ServerQueueMs: nan, ServerPrefillMs: nan, ServerDecodeMs: nan, ModelMs: nan}
	return row
}

// reject ends a call that is not sent.
func (b *book) reject(f *flight, why *force.Refusal, atMs float64) {
	r := b.ledger.Row(f.row)
	r.Status, r.Reason, r.EndMs = metrics.Rejected, why.Reason, atMs
	b.ended++
	b.tasks.end(f.Task, f.n, metrics.Rejected, math.NaN(), atMs)
	b.write(lineOf(f, &wire.Answer{SendMs: math.NaN(), WrittenMs: math.NaN(), FirstByteMs: math.NaN(), LastByteMs: math.NaN(),
		Failure: &wire.Failure{Detail: why.Detail}}, r.Status, r.Reason, ""))
}

// end writes down how a call ended.
func (b *book) end(f *flight, a *wire.Answer) metrics.Status {
	r, live := b.ledger.Row(f.row), b.lives[f.row]
	status, reason := statusOf(a)
	b.time(r, f, a, status)
	r.Status, r.Reason = status, reason
	b.describe(live, f, a)
	line := lineOf(f, a, status, reason, live.Target)
	if status == metrics.Completed {
		line.Differences = b.compare(f, a)
		live.Faithful = b.fidelity.judge(b.mode, f, a, line.Differences)
	} else {
		b.failures.note(f, a)
	}
	b.ended++
	b.tokens += int(a.Tokens())
	b.tasks.end(f.Task, f.n, status, live.ModelMs, a.LastByteMs)
	b.write(line)
	return status
}

// compare is what a complete answer has otherwise than the recording.
func (b *book) compare(f *flight, a *wire.Answer) []force.Difference {
	d := b.mode.Differences(f.sheet.call, a)
	if f.sheet.table == nil {
		return d
	}
	verified, wrong := compareExperts(f.sheet.table, a)
	b.fidelity.ForcedExperts += known(f.sheet.table)
	b.fidelity.VerifiedExperts += verified
	return append(d, wrong...)
}

// statusOf is how a call ended, and why.
func statusOf(a *wire.Answer) (metrics.Status, string) {
	switch {
	case a.Failure == nil:
		return metrics.Completed, ""
	case a.Failure.Kind == metrics.Interrupted:
		return metrics.Unfinished, metrics.Interrupted
	}
	return metrics.Failed, a.Failure.Kind
}

// time fills in the row of a call. Tokens that came in one piece came at one time, but
// the time between them is unknown, so gaps are those between pieces
// (spec/live.md F.4).
func (b *book) time(r *metrics.Row, f *flight, a *wire.Answer, status metrics.Status) {
	r.Bucket, r.Instance = 0, f.at
	r.SubmitMs, r.EndMs = a.SendMs, a.LastByteMs
	if cached, known := a.Usage.Cached(); known {
		b.cached = true
		r.Admit(math.NaN(), cached)
	}
	if a.Times != nil && a.Times.QueueMs != nil {
		r.AdmitMs = a.SendMs + *a.Times.QueueMs
	}
	r.OutputTokens = a.Tokens()
	if len(a.Chunks) == 0 {
		return
	}
	last := len(a.Chunks) - 1
	r.LastMs = a.Chunks[last].AtMs
	if !b.stream {
		return // nobody knows when the first came
	}
	r.FirstMs = a.Chunks[0].AtMs
	switch {
	case a.Chunks[0].N > 1:
		r.SecondMs = r.FirstMs
	case last > 0:
		r.SecondMs = a.Chunks[1].AtMs
	}
	if status == metrics.Completed {
		for i := range last {
			b.gaps[f.at].Add(a.Chunks[i+1].AtMs - a.Chunks[i].AtMs)
		}
	}
}

// describe fills in what only a live run knows of a call.
func (b *book) describe(live *rundir.LiveCall, f *flight, a *wire.Answer) {
	live.Target, live.Attempts = b.targets[f.at].url, f.attempts
	live.WrittenMs, live.FirstByteMs, live.Chunks = a.WrittenMs, a.FirstByteMs, int32(len(a.Chunks))
	if !math.IsNaN(f.sentMs) {
		live.LagMs = max(0, f.sentMs-f.ReadyMs)
		b.lags = append(b.lags, live.LagMs)
		b.tickLagMs = max(b.tickLagMs, live.LagMs)
	}
	if t := a.Times; t != nil {
		live.ServerQueueMs, live.ServerPrefillMs, live.ServerDecodeMs = orNaN(t.QueueMs), orNaN(t.PrefillMs), orNaN(t.DecodeMs)
	}
	live.ModelMs = live.ServerPrefillMs + live.ServerDecodeMs
	if math.IsNaN(live.ModelMs) && len(a.Chunks) > 0 {
		live.ModelMs = a.Chunks[len(a.Chunks)-1].AtMs - a.SendMs
	}
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// tool writes down a tool that has ended.
func (b *book) tool(t *trace.Task, line toolLine) {
	b.tasks.ran(t, float64(line.EndMs-line.StartMs), float64(line.EndMs))
	if b.files != nil {
		b.keep(b.files.tools.Add(line))
	}
}

// write writes the line of a call.
func (b *book) write(line callLine) {
	if b.files != nil {
		b.keep(b.files.calls.Add(line))
	}
}

// handOut passes on the rows that have ended, in order of arrival.
func (b *book) handOut() {
	b.ledger.HandOut(func(n int32, r *metrics.Row) {
		live := b.lives[n]
		delete(b.lives, n)
		b.keep(b.tally.Add(r))
		if b.files != nil {
			b.keep(b.files.requests.AddLive(r, live))
		}
	})
}

// keep keeps the first error of writing.
func (b *book) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

// standing is what has happened by now.
func (b *book) standing(nowMs float64) Progress {
	p := Progress{Ended: b.ended, Faithful: b.fidelity.Faithful, Unfaithful: b.fidelity.Unfaithful, Failed: b.failures.Calls, LagMs: b.tickLagMs}
	if nowMs > b.tickMs {
		p.TokensPerS = float64(b.tokens-b.tickTokens) / (nowMs - b.tickMs) * 1000
	}
	b.tickMs, b.tickTokens, b.tickLagMs = nowMs, b.tokens, 0
	return p
}

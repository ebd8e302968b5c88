package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/token"
)

// world is an instance and what will arrive at it.
type world struct {
	settings engine.Settings
	model    latency.Model
	hostMs   float64
	calls    []call   // in order of time
	cancels  []cancel // in order of time
}

type call struct {
	request engine.Request
	atMs    float64
}

// cancel is a client that goes away, after its call has arrived.
type cancel struct {
	row  int32
	atMs float64
}

// drawWorld draws a world in which everything is scarce and happens at the same
// times.
func drawWorld(t *rapid.T) *world {
	w := &world{settings: drawSettings(t)}
	price := rapid.SampledFrom([]float64{0, 0, 1, 2, 0.1, 1.7})
	if rapid.IntRange(0, 3).Draw(t, "model") == 0 {
		w.model = latency.Polynomial{}
	} else {
		w.model = latency.Fixed{PrefillMs: price.Draw(t, "prefill ms"), DecodeMs: price.Draw(t, "decode ms")}
	}
	w.hostMs = rapid.SampledFrom([]float64{0, 0, 0, 0.25, 0.1}).Draw(t, "host ms")
	gap := rapid.SampledFrom([]float64{0, 0, 0.5, 1, 2, 7, 30.3})
	at := 0.0
	for row := range rapid.IntRange(1, 16).Draw(t, "calls") {
		at += gap.Draw(t, "gap")
		r := engine.Request{
			Row: int32(row), ID: fmt.Sprint(row), Arrival: float64(row), Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")),
			InputTokens: int32(rapid.IntRange(0, 30).Draw(t, "prompt")), MaxTokens: int32(rapid.IntRange(0, 30).Draw(t, "output")),
		}
		if rapid.IntRange(0, 2).Draw(t, "known") > 0 {
			r.Prompt = token.IDs(drawIDs(t, r.InputTokens))
			if rapid.Bool().Draw(t, "output known") {
				r.Output = token.IDs(drawIDs(t, r.MaxTokens))
			}
		}
		w.calls = append(w.calls, call{r, at})
	}
	return w
}

// drawCancels lets some clients go away.
func (w *world) drawCancels(t *rapid.T) {
	patience := rapid.SampledFrom([]float64{0, 1, 2, 5, 10.5, 40})
	for _, c := range w.calls {
		if rapid.IntRange(0, 3).Draw(t, "impatient") == 0 {
			w.cancels = append(w.cancels, cancel{c.request.Row, c.atMs + patience.Draw(t, "patience")})
		}
	}
	slices.SortStableFunc(w.cancels, func(a, b cancel) int { return cmp.Compare(a.atMs, b.atMs) })
}

// drawIDs draws tokens from an alphabet so small that much is shared.
func drawIDs(t *rapid.T, n int32) []uint32 {
	return rapid.SliceOfN(rapid.Uint32Range(0, 1), int(n), int(n)).Draw(t, "tokens")
}

func drawSettings(t *rapid.T) engine.Settings {
	s := engine.Defaults()
	s.BlockSize = rapid.IntRange(2, 6).Draw(t, "block size")
	s.NumGPUBlocks = rapid.IntRange(5, 24).Draw(t, "blocks")
	s.MaxNumSeqs = rapid.IntRange(1, 5).Draw(t, "seqs")
	s.MaxNumBatchedTokens = rapid.IntRange(max(s.MaxNumSeqs, 4), 30).Draw(t, "budget")
	s.EnablePrefixCaching = rapid.IntRange(0, 3).Draw(t, "caching") > 0
	s.EnableChunkedPrefill = rapid.IntRange(0, 3).Draw(t, "chunking") > 0
	s.Rules = rapid.SampledFrom([]string{"vllm", "vllm", "aisimulate"}).Draw(t, "rules")
	if s.Rules == "vllm" {
		s.VLLM.AsyncScheduling = rapid.Bool().Draw(t, "async")
		s.VLLM.Policy = rapid.SampledFrom([]string{"fcfs", "priority"}).Draw(t, "policy")
		s.VLLM.Watermark = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "watermark")
		s.VLLM.ReserveFullISL = rapid.Bool().Draw(t, "reserve")
		s.VLLM.LongPrefillTokenThreshold = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "threshold")
	} else {
		s.AISimulate.PreemptionMode = rapid.SampledFrom([]string{"lifo", "fifo"}).Draw(t, "preemption")
	}
	if err := paged.Resolve(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// life is an instance in a world, with its rows.
type life struct {
	t      *rapid.T
	in     *Instance
	ledger *metrics.Ledger
	left   []call // not yet handed over
	leave  []cancel
}

func (w *world) live(t *rapid.T) *life {
	ledger := &metrics.Ledger{KeepTokens: true}
	for _, c := range w.calls {
		ledger.Open(metrics.Label{Request: c.request.ID}, c.atMs, c.request.InputTokens, c.request.MaxTokens)
	}
	return &life{t: t, in: w.instance(0, ledger), ledger: ledger, left: w.calls, leave: w.cancels}
}

// instance is an idle one.
func (w *world) instance(id int32, ledger *metrics.Ledger) *Instance {
	return NewInstance(0, id, Equipment{Rank: paged.New(&w.settings), Model: w.model, HostMs: w.hostMs, Ledger: ledger})
}

func (l *life) must(err error) {
	if err != nil {
		l.t.Fatal(err)
	}
}

// nextMs is when the next call arrives or is cancelled.
func (l *life) nextMs() float64 {
	next := math.Inf(1)
	if len(l.left) > 0 {
		next = l.left[0].atMs
	}
	if len(l.leave) > 0 {
		next = min(next, l.leave[0].atMs)
	}
	return next
}

// submit hands over what arrives by untilMs.
func (l *life) submit(untilMs float64) {
	for len(l.left) > 0 && l.left[0].atMs <= untilMs {
		c := l.left[0]
		l.in.Submit(&c.request, c.atMs)
		l.left = l.left[1:]
	}
}

// cancel cancels what is to be cancelled by nowMs, to which the instance has been
// advanced.
func (l *life) cancel(nowMs float64) {
	for len(l.leave) > 0 && l.leave[0].atMs <= nowMs {
		l.in.Cancel(l.leave[0].row, metrics.Cancelled, metrics.ClientCancelled, nowMs)
		l.leave = l.leave[1:]
	}
}

// byTheBook looks at the instance only when it says so, and at arrivals.
func (l *life) byTheBook() {
	for rounds := 0; rounds < 1<<16; rounds++ {
		t := min(l.nextMs(), l.in.NextMs())
		if math.IsInf(t, 1) {
			return
		}
		l.must(l.in.AdvanceTo(t))
		l.submit(t)
		l.cancel(t)
		l.must(l.in.Start(t))
	}
	l.t.Fatal("it does not come to an end")
}

// nosily looks at the instance whenever it likes, and hands calls over at their
// arrival or some of them ahead.
func (l *life) nosily() {
	step := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1, 2, 3.3, 10, 50})
	now, sampled, busy := 0.0, 0.0, 0.0
	for i := 0; i < 400 && !math.IsInf(min(l.nextMs(), l.in.NextMs()), 1); i++ {
		now = min(now+step.Draw(l.t, "step"), l.nextMs())
		l.must(l.in.AdvanceTo(now))
		l.submit(now)
		l.cancel(now)
		if n := rapid.IntRange(-6, 2).Draw(l.t, "ahead"); n > 0 && len(l.left) > 0 {
			l.submit(l.left[min(n, len(l.left))-1].atMs)
		}
		switch rapid.IntRange(0, 4).Draw(l.t, "look") {
		case 0:
			l.must(l.in.Start(now))
		case 1:
			s, err := l.in.Sample(now)
			l.must(err)
			if s.BusyFraction < 0 || s.BusyFraction > 1 {
				l.t.Fatalf("busy %v of the time from %v to %v ms", s.BusyFraction, sampled, now)
			}
			busy += s.BusyFraction * (now - sampled)
			sampled = now
		case 2:
			l.in.NextMs()
		case 3:
			if load := l.in.Load(now); load.BlocksUsed+load.BlocksCached > load.BlocksTotal {
				l.t.Fatalf("more blocks in use than there are: %+v", load)
			}
		}
	}
	l.byTheBook()
	end := max(now, l.in.NowMs()) + 1
	s, err := l.in.Sample(end)
	l.must(err)
	if busy += s.BusyFraction * (end - sampled); math.Abs(busy-l.in.Use().BusyMs) > 1e-6 {
		l.t.Fatalf("samples say that %v ms were busy, the instance %v", busy, l.in.Use().BusyMs)
	}
}

// told is all that is known in the end, to be compared as text: floats as their bits.
func (l *life) told() (rows, passes []string) {
	for n := range l.ledger.Len() {
		r := l.ledger.Row(int32(n))
		var times []uint64
		for _, ms := range append([]float64{r.SubmitMs, r.AdmitMs, r.FirstMs, r.SecondMs, r.LastMs, r.EndMs}, r.TokenMs...) {
			times = append(times, math.Float64bits(ms))
		}
		rows = append(rows, fmt.Sprintf("%s %v %s: %d tokens, %d/%d cached, %d admissions, %d preemptions, %x",
			r.Request, r.Status, r.Reason, r.OutputTokens, r.CachedTokens, r.CachedMax, r.Admissions, r.Preemptions, times))
	}
	for i := range l.in.log.Len() {
		passes = append(passes, fmt.Sprintf("%x", math.Float64bits(l.in.log.End(i))))
	}
	return rows, passes
}

// sameLives compares two lives of one world.
func sameLives(t *rapid.T, what string, a, b *life) {
	rowsA, passesA := a.told()
	rowsB, passesB := b.told()
	for i := range rowsA {
		if rowsA[i] != rowsB[i] {
			t.Fatalf("%s:\n%s\n%s", what, rowsA[i], rowsB[i])
		}
	}
	if !slices.Equal(passesA, passesB) {
		t.Fatalf("%s: passes end at\n%v\n%v", what, passesA, passesB)
	}
	if x, y := a.in.Fold(true).Moments(), b.in.Fold(true).Moments(); x != y {
		t.Fatalf("%s: gaps %+v, %+v", what, x, y)
	}
}

// However often an instance is looked at, and however early it is handed its
// requests: rows, tokens and pass ends are the same to the bit.
func TestLookingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.drawCancels(t)
		a, b := w.live(t), w.live(t)
		a.byTheBook()
		b.nosily()
		sameLives(t, "looked at when due, and all the time", a, b)
		if x, y := a.in.Use().BusyMs, b.in.Use().BusyMs; x != y {
			t.Fatalf("busy %v, %v", x, y)
		}
	})
}

// The instance with its plans gives every request the times and tokens that a clock
// gives it which decides and applies one pass after the other.
func TestPlansAreTheSameAsPassesOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		a, p := w.live(t), w.plain(t)
		a.byTheBook()
		p.run()
		for n := range p.rows {
			r, want := a.ledger.Row(int32(n)), &p.rows[n]
			same := r.Status == want.status && sameBits(r.AdmitMs, want.admitMs) && sameBits(r.EndMs, want.endMs) &&
				slices.EqualFunc(r.TokenMs, want.tokenMs, sameBits) && r.Preemptions == want.preemptions && r.CachedTokens == want.cached
			if !same {
				t.Fatalf("request %d:\n got %+v\nwant %+v", n, *r, *want)
			}
		}
		if a.in.log.Len() != len(p.ends) {
			t.Fatalf("%d passes, want %d", a.in.log.Len(), len(p.ends))
		}
		for i, end := range p.ends {
			if !sameBits(a.in.log.End(i), end) {
				t.Fatalf("pass %d ends at %v, want %v", i, a.in.log.End(i), end)
			}
		}
	})
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

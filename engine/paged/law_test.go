package paged

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// world drives a Rank and its plain double side by side.
type world struct {
	t        *rapid.T
	settings engine.Settings
	rank     *Rank
	plain    *plain
	rows     int
	open     map[int]bool
	flight   int
	step     int
	interval int
	ties     int             // requests that share an arrival
	runs     map[int32][]int // tokens of each request by the events: passes in which they came
	truth    map[int32][]int // by the double
}

// hostile draws settings that make everything scarce.
func hostile(t *rapid.T) engine.Settings {
	s := engine.Defaults()
	s.BlockSize = rapid.IntRange(2, 8).Draw(t, "block size")
	s.NumGPUBlocks = rapid.IntRange(6, 40).Draw(t, "blocks")
	s.MaxNumSeqs = rapid.IntRange(1, 8).Draw(t, "seqs")
	s.MaxNumBatchedTokens = rapid.IntRange(s.MaxNumSeqs, 40).Draw(t, "budget")
	s.EnablePrefixCaching = rapid.IntRange(0, 3).Draw(t, "caching") > 0
	s.EnableChunkedPrefill = rapid.IntRange(0, 4).Draw(t, "chunking") > 0
	if rapid.Bool().Draw(t, "limited") {
		n := rapid.IntRange(8, 120).Draw(t, "model length")
		s.MaxModelLen = &n
		if !s.EnableChunkedPrefill {
			s.MaxNumBatchedTokens = max(s.MaxNumBatchedTokens, n)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "rules") == 0 {
		s.Rules = "aisimulate-0.13"
		s.AISimulate.PreemptionMode = rapid.SampledFrom([]string{"lifo", "fifo"}).Draw(t, "mode")
		return s
	}
	s.Rules = "vllm-0.32"
	s.VLLM.AsyncScheduling = rapid.Bool().Draw(t, "async")
	s.VLLM.Policy = rapid.SampledFrom([]string{"fcfs", "fcfs", "priority"}).Draw(t, "policy")
	s.VLLM.Watermark = rapid.SampledFrom([]float64{0, 0, 0.05, 0.2}).Draw(t, "watermark")
	s.VLLM.ReserveFullISL = rapid.IntRange(0, 2).Draw(t, "reserve") > 0
	s.VLLM.LongPrefillTokenThreshold = rapid.SampledFrom([]int{0, 0, 3, 7}).Draw(t, "threshold")
	s.VLLM.LongPrefillAdaptive = rapid.Bool().Draw(t, "adaptive")
	if rapid.IntRange(0, 3).Draw(t, "second budget") == 0 {
		n := rapid.IntRange(1, s.MaxNumBatchedTokens).Draw(t, "scheduled tokens")
		s.VLLM.MaxNumScheduledTokens = &n
	}
	if rapid.IntRange(0, 3).Draw(t, "second cap") == 0 {
		n := rapid.IntRange(1, s.MaxNumSeqs).Draw(t, "active")
		s.VLLM.MaxNumActiveSeqs = &n
	}
	return s
}

func newWorld(t *rapid.T) *world {
	s := hostile(t)
	w := &world{
		t: t, settings: s, rank: New(&s), plain: newPlain(s), open: map[int]bool{},
		runs: map[int32][]int{}, truth: map[int32][]int{}, interval: 1,
		ties: rapid.IntRange(1, 2).Draw(t, "ties"),
	}
	if rapid.IntRange(0, 5).Draw(t, "cadence") == 0 {
		w.interval = 3
		w.rank.interval = 3
	}
	return w
}

// ids draws tokens from an alphabet so small that everything is shared.
func ids(t *rapid.T, n int, label string) []uint32 {
	return rapid.SliceOfN(rapid.Uint32Range(0, 1), n, n).Draw(t, label)
}

// submit adds a request to both.
func (w *world) submit(t *rapid.T) {
	row := w.rows
	w.rows++
	prompt := rapid.IntRange(1, 40).Draw(t, "prompt")
	out := rapid.IntRange(0, 30).Draw(t, "output")
	e := engine.Request{
		Row: int32(row), ID: fmt.Sprint("r", row), InputTokens: int32(prompt), MaxTokens: int32(out),
		Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")), Arrival: float64(row / w.ties),
	}
	known := rapid.IntRange(0, 3).Draw(t, "known") > 0
	var tokens []uint32
	if known {
		tokens = ids(t, prompt, "prompt tokens")
		e.Prompt = token.IDs(slices.Clone(tokens))
	} else {
		tokens = own(row, prompt)
	}
	if known && rapid.Bool().Draw(t, "named output") {
		o := ids(t, out, "output tokens")
		e.Output = token.IDs(slices.Clone(o))
		tokens = append(tokens, o...)
	} else {
		tokens = append(tokens, own(row+1<<12, out)...)
	}
	if w.rank.Refuse(&e) != "" {
		return
	}
	limit := out
	if m := w.settings.MaxModelLen; m != nil {
		limit = max(0, min(out, *m-prompt))
	}
	w.rank.Submit(&e)
	w.plain.submit(&job{row: row, prompt: prompt, max: limit, priority: int(e.Priority), arrival: e.Arrival, id: e.ID, tokens: tokens})
	w.open[row] = true
}

// own are tokens that nobody else has.
func own(maker, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(maker+1)<<12 + uint32(i)
	}
	return out
}

func (w *world) throttled() bool { return w.interval > 1 && w.step%w.interval != 0 }

// advance lets both make one step: decide a pass, or complete the oldest.
func (w *world) advance(t *rapid.T) {
	if w.flight == w.rank.Depth() {
		w.complete(1)
		return
	}
	var s engine.Stretch
	if w.rank.Stretch(rapid.IntRange(1, 40).Draw(t, "limit"), &s) && rapid.Bool().Draw(t, "skip") {
		w.skip(t, &s)
		return
	}
	w.schedule()
}

func (w *world) schedule() {
	p := engine.Pass{Throttled: w.throttled()}
	w.step++
	var fx engine.Effects
	d := w.rank.Schedule(&p, &fx)
	decided, events := w.plain.schedule(p.Throttled)
	w.compareEvents(&fx, events)
	if decided != (d == engine.Decided) {
		w.t.Fatalf("decided %v, want %v", d, decided)
	}
	if !decided {
		for w.flight > 0 { // an empty step stands behind what is in flight
			w.complete(1)
		}
		w.compareLoad()
		return
	}
	last := w.plain.flight[len(w.plain.flight)-1]
	w.flight++
	if got, want := w.rank.Shares(nil), last.shares; !slices.Equal(got, want) {
		w.t.Fatalf("shares %v, want %v", got, want)
	}
	if p.Cost != last.cost {
		w.t.Fatalf("cost %+v, want %+v", p.Cost, last.cost)
	}
	w.note(p.Index, last.shares)
	w.compareLoad()
}

// note records who gets a token in a pass.
func (w *world) note(pass int, shares []engine.Share) {
	for _, s := range shares {
		if s.Yields {
			w.truth[s.Row] = append(w.truth[s.Row], pass)
		}
	}
}

// skip lets the rank skip passes of a stretch and the double walk them.
func (w *world) skip(t *rapid.T, s *engine.Stretch) {
	n := rapid.IntRange(1, s.Passes).Draw(t, "passes")
	first := w.rank.pass
	w.rank.Skip(n)
	done := max(0, w.flight+n-w.rank.Depth())
	var want []engine.Event
	for i := range n {
		if len(w.plain.flight) == w.rank.Depth() {
			want = append(want, w.plain.complete()...)
		}
		decided, events := w.plain.schedule(w.throttled())
		w.step++
		if !decided || len(events) > 0 {
			w.t.Fatalf("pass %d of a stretch of %d: decided %v, events %v", i, s.Passes, decided, events)
		}
		cost := s.First
		cost.DecodeContext += int64(i) * cost.DecodeNew
		last := w.plain.flight[len(w.plain.flight)-1]
		if last.cost != cost {
			w.t.Fatalf("pass %d of a stretch costs %+v, want %+v", i, cost, last.cost)
		}
		w.note(first+i, last.shares)
	}
	var fx engine.Effects
	w.rank.Complete(done, &fx)
	w.flight += n - done
	w.ends(&fx)
	w.compareEvents(&fx, want)
	w.compareLoad()
}

func (w *world) complete(n int) {
	var fx engine.Effects
	w.rank.Complete(n, &fx)
	w.flight -= n
	w.ends(&fx)
	w.compareEvents(&fx, w.plain.complete())
	w.compareLoad()
}

func (w *world) ends(fx *engine.Effects) {
	for _, e := range fx.Events {
		if e.Kind == engine.Finished || e.Kind == engine.Rejected {
			delete(w.open, int(e.Row))
		}
	}
}

// compareEvents compares what both report, and gathers tokens.
func (w *world) compareEvents(fx *engine.Effects, want []engine.Event) {
	var got []engine.Event
	for _, e := range fx.Events {
		switch e.Kind {
		case engine.Tokens:
			for i := range int(e.N) {
				w.runs[e.Row] = append(w.runs[e.Row], e.Pass+i)
			}
		case engine.Finished:
			if !slices.Equal(w.runs[e.Row], w.truth[e.Row]) {
				w.t.Fatalf("request %d got tokens in passes %v, want %v", e.Row, w.runs[e.Row], w.truth[e.Row])
			}
			got = append(got, engine.Event{Kind: e.Kind, Row: e.Row})
		case engine.Rejected:
			got = append(got, engine.Event{Kind: e.Kind, Row: e.Row})
		case engine.First:
			if first := w.truth[e.Row][0]; first != e.Pass {
				w.t.Fatalf("request %d got its first token in pass %d, want %d", e.Row, e.Pass, first)
			}
		default:
			got = append(got, e)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("events %+v, want %+v", got, want)
	}
}

func (w *world) compareLoad() {
	l, p := w.rank.Load(), w.plain
	if l.Waiting != len(p.waiting) || l.Running != len(p.running) || l.BlocksUsed != p.used() || l.BlocksCached != len(p.idle) {
		w.t.Fatalf("load %+v, want waiting %d running %d used %d cached %d", l, len(p.waiting), len(p.running), p.used(), len(p.idle))
	}
	tokens := 0
	for _, q := range p.waiting {
		tokens += q.prompt
	}
	for _, q := range p.running {
		tokens += max(0, q.prompt-q.computed)
		for _, f := range p.flight {
			if i := slices.Index(f.jobs, q); i >= 0 && f.shares[i].Before < int32(q.prompt) {
				tokens += min(q.prompt, int(f.shares[i].Before+f.shares[i].New)) - int(f.shares[i].Before)
			}
		}
	}
	if l.PrefillTokens != tokens {
		w.t.Fatalf("%d prefill tokens to compute, want %d", l.PrefillTokens, tokens)
	}
}

// cancel ends a request that is open, wherever it is.
func (w *world) cancel(t *rapid.T) {
	rows := make([]int, 0, len(w.open))
	for row := range w.open {
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, cmp.Compare[int])
	row := rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
	var fx engine.Effects
	if got, want := w.rank.Cancel(int32(row), &fx), w.plain.cancel(row); got != want {
		w.t.Fatalf("cancel %d: %v, want %v", row, got, want)
	}
	delete(w.open, row)
	w.compareLoad()
}

// resident compares a probe of the cache.
func (w *world) resident(t *rapid.T) {
	tokens := ids(t, rapid.IntRange(1, 40).Draw(t, "probe"), "probe tokens")
	q := &job{tokens: tokens}
	hit, _ := w.plain.lookUp(q, (len(tokens)-1)/w.plain.bs)
	if got, want := w.rank.Resident(token.IDs(tokens)), len(hit)*w.plain.bs; got != want {
		w.t.Fatalf("%d tokens resident, want %d", got, want)
	}
}

// The rank, with its sums and stretches, decides and reports exactly what a loop
// over requests does, in worlds in which everything is scarce and shared.
func TestSumsDecideLikeSingleRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"submit":   w.submit,
			"step":     w.advance,
			"step 2":   w.advance,
			"step 3":   w.advance,
			"cancel":   w.cancel,
			"resident": w.resident,
		})
		for range 5000 { // run dry
			if len(w.open) == 0 && w.flight == 0 {
				break
			}
			before := w.rank.pass
			w.advance(t)
			if w.rank.pass == before && w.flight == 0 {
				if _, _, stuck := w.rank.Stuck(); stuck {
					return
				}
			}
		}
		if w.ties > 1 && w.settings.VLLM.Policy == "priority" {
			return // requests of one rank may take each other's blocks for ever
		}
		if len(w.open) > 0 {
			t.Fatalf("%d requests are left", len(w.open))
		}
		if n := w.rank.pool.Active(); n != 0 {
			t.Fatalf("%d blocks leaked", n)
		}
	})
}

package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// world is one instance's life: when its passes end and which requests get a
// token in which of them.
type world struct {
	ends     []float64
	requests []worldRequest
}

type worldRequest struct {
	passes []int // of its tokens, decided ones included
	status Status
	endMs  float64
	after  int // pass after which it ends
}

// newWorld draws a world: some requests run for long, some lose their place and
// come back, some are cancelled, perhaps with tokens decided and not yet seen.
func newWorld(seed uint64, passes, requests int) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{}
	now := 0.0
	for range passes {
		if random.IntN(20) > 0 { // else a pass without duration
			now += 1 + 10*random.Float64()
		}
		w.ends = append(w.ends, now)
	}
	for range requests {
		var q worldRequest
		for p, n := random.IntN(passes), 1+random.IntN(200); p < passes && n > 0; n-- {
			q.passes = append(q.passes, p)
			p++
			if random.IntN(50) == 0 {
				p += random.IntN(300)
			}
		}
		q.status, q.after = Completed, q.passes[len(q.passes)-1]
		q.endMs = w.ends[q.after]
		if random.IntN(4) == 0 {
			q.status = Cancelled
			q.endMs = w.ends[q.passes[0]] + (q.endMs-w.ends[q.passes[0]])*random.Float64()
		}
		w.requests = append(w.requests, q)
	}
	return w
}

// continued is how many tokens of a pass follow one of the pass before.
func (w *world) continued() []int32 {
	n := make([]int32, len(w.ends))
	for _, q := range w.requests {
		for i, p := range q.passes {
			if i > 0 && q.passes[i-1] == p-1 {
				n[p]++
			}
		}
	}
	return n
}

// run plays the world through a pass log. often says before each pass whether
// passes are folded and whatever can be handed out is.
func (w *world) run(t interface{ Fatal(...any) }, often func() bool) (*Summary, []Row) {
	l, g, log := Ledger{KeepTokens: true}, new(Gaps), new(PassLog)
	tally := NewTally(Setup{Buckets: []string{"default"}})
	defer tally.Close()
	var rows []Row
	handOut := func() {
		l.HandOut(func(_ int32, r *Row) {
			tally.Add(r)
			rows = append(rows, *r)
		})
		tally.Take(0, g)
	}
	for range w.requests {
		l.Row(l.Open(Label{}, 0, 100, 100)).Bucket = 0
	}
	for p, n := range w.continued() {
		log.Append(w.ends[p], n)
		for i, q := range w.requests {
			w.happen(l.Row, int32(i), q, p, log, g)
		}
		if often() {
			log.Fold(g, false)
			handOut()
		}
	}
	log.Fold(g, true)
	handOut()
	s, err := tally.Summary(Run{InTrace: int64(len(w.requests)), Uses: []Use{{Gaps: g}}})
	must(t, err)
	return s, rows
}

// happen notes what pass p means for a request.
func (w *world) happen(row func(int32) *Row, i int32, q worldRequest, p int, log *PassLog, g *Gaps) {
	if p == q.passes[0] {
		row(i).Instance = 0
		row(i).First(p, log)
	}
	if at, ok := slices.BinarySearch(q.passes, p); ok && (at == len(q.passes)-1 || q.passes[at+1] != p+1) {
		from := at
		for from > 0 && q.passes[from-1] == q.passes[from]-1 {
			from--
		}
		row(i).Tokens(q.passes[from], int32(at-from+1))
	}
	if p == q.after {
		row(i).End(q.status, reasonOf(q.status), q.endMs, log, g, true)
	}
}

func reasonOf(s Status) Reason {
	if s == Completed {
		return ""
	}
	return ClientCancelled
}

// runAt plays the world with explicit token times.
func (w *world) runAt(t interface{ Fatal(...any) }) (*Summary, []Row) {
	l, g := Ledger{KeepTokens: true}, new(Gaps)
	tally := NewTally(Setup{Buckets: []string{"default"}})
	defer tally.Close()
	for _, q := range w.requests {
		r := l.Row(l.Open(Label{}, 0, 100, 100))
		r.Bucket, r.Instance = 0, 0
		var times []float64
		for _, p := range q.passes {
			times = append(times, w.ends[p])
		}
		r.EndAt(q.status, reasonOf(q.status), q.endMs, times, g, true)
	}
	var rows []Row
	l.HandOut(func(_ int32, r *Row) {
		tally.Add(r)
		rows = append(rows, *r)
	})
	s, err := tally.Summary(Run{InTrace: int64(len(w.requests)), Uses: []Use{{Gaps: g}}})
	must(t, err)
	return s, rows
}

func TestResultsDoNotDependOnWhenRowsAndGapsAreTaken(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		w := newWorld(seed, 5000, 30)
		random := rand.New(rand.NewPCG(seed, 1))
		one := 1 + rapid.IntRange(0, 300).Draw(rt, "every")
		never, _ := w.run(rt, func() bool { return false })
		sometimes, _ := w.run(rt, func() bool { return random.IntN(one) == 0 })
		if a, b := firstDifference(asJSON(rt, never), asJSON(rt, sometimes)); a != b {
			rt.Fatalf("at the end %s, in portions %s", a, b)
		}
	})
}

func TestAPassLogSaysTheSameAsTokenTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(rt, "seed"), 3500, 20)
		got, gotRows := w.run(rt, func() bool { return true })
		want, wantRows := w.runAt(rt)
		for i := range wantRows {
			a, b := &gotRows[i], &wantRows[i]
			if a.OutputTokens != b.OutputTokens || !same(a.FirstMs, b.FirstMs) || !same(a.SecondMs, b.SecondMs) ||
				!same(a.LastMs, b.LastMs) || !slices.Equal(a.TokenMs, b.TokenMs) {
				rt.Fatalf("request %d:\n%+v\nwant\n%+v", i, *a, *b)
			}
		}
		for _, d := range []struct{ got, want *Distribution }{
			{&got.Latencies.ITL, &want.Latencies.ITL}, {&got.Latencies.Rate, &want.Latencies.Rate},
		} {
			if !near(d.got.Mean, d.want.Mean) || !near(d.got.Std, d.want.Std) {
				rt.Fatalf("%+v\nwant\n%+v", *d.got, *d.want)
			}
			d.got.Mean, d.got.Std = d.want.Mean, d.want.Std
		}
		got.PerBucket, want.PerBucket = nil, nil
		if a, b := firstDifference(asJSON(rt, got), asJSON(rt, want)); a != b {
			rt.Fatalf("%s, want %s", a, b)
		}
	})
}

// TestRatesAreTheGapsTurnedAround counts rates one by one.
func TestRatesAreTheGapsTurnedAround(t *testing.T) {
	w := newWorld(7, 3500, 40)
	s, rows := w.run(t, func() bool { return true })
	var rates []float64
	for _, r := range rows {
		for i := 1; r.Status == Completed && i < len(r.TokenMs); i++ {
			if gap := r.TokenMs[i] - r.TokenMs[i-1]; gap > 0 {
				rates = append(rates, 1000/gap)
			}
		}
	}
	slices.Sort(rates)
	d := s.Latencies.Rate
	at := func(p float64) float64 { return rates[int(math.Round(float64(len(rates)-1)*p/100))] }
	if d.N != int64(len(rates)) || d.N == s.Latencies.ITL.N ||
		d.Min != rates[0] || d.Max != rates[len(rates)-1] || d.Median != at(50) || d.P75 != at(75) || d.P99 != at(99) {
		t.Errorf("%+v of %d rates from %v to %v", d, len(rates), rates[0], rates[len(rates)-1])
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func near(a, b float64) bool {
	return same(a, b) || math.Abs(a-b) <= 1e-11*max(math.Abs(a), math.Abs(b))
}

func asJSON(t interface{ Fatal(...any) }, s *Summary) string {
	text, err := json.MarshalIndent(s, "", " ")
	must(t, err)
	return string(text)
}

// firstDifference is the first line in which two texts differ.
func firstDifference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i], y[i]
		}
	}
	return fmt.Sprint(len(x), " lines"), fmt.Sprint(len(y), " lines")
}

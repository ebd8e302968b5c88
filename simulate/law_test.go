package simulate_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/mooncake"
	"github.com/reprise-sim/reprise/workload"
)

// drawScene draws a scene of flat requests in recorded time, on instances that are
// too small for them.
func drawScene(t *rapid.T) scene {
	s := scene{arrival: workload.Defaults(), engine: engine.Defaults(), instances: rapid.IntRange(1, 4).Draw(t, "instances")}
	drawEngine(t, &s.engine)
	s.model = latency.Polynomial{}
	if rapid.IntRange(0, 2).Draw(t, "model") > 0 {
		price := rapid.SampledFrom([]float64{0, 1, 2.5, 0.1})
		s.model = latency.Fixed{PrefillMs: price.Draw(t, "prefill ms"), DecodeMs: price.Draw(t, "decode ms")}
	}
	s.sampleMs = rapid.SampledFrom([]float64{0, 1, 2.5, 7.3}).Draw(t, "sample ms")
	s.trace = drawTasks(t, s.engine.BlockSize)
	return s
}

func drawEngine(t *rapid.T, s *engine.Settings) {
	s.BlockSize = rapid.IntRange(2, 6).Draw(t, "block size")
	s.NumGPUBlocks = rapid.IntRange(6, 24).Draw(t, "blocks")
	s.MaxNumSeqs = rapid.IntRange(1, 5).Draw(t, "seqs")
	s.MaxNumBatchedTokens = rapid.IntRange(max(s.MaxNumSeqs, 4), 30).Draw(t, "budget")
	s.EnablePrefixCaching = rapid.Bool().Draw(t, "caching")
	s.Rules = rapid.SampledFrom([]string{"vllm", "aisimulate"}).Draw(t, "rules")
	if s.Rules == "vllm" {
		s.VLLM.AsyncScheduling = rapid.Bool().Draw(t, "async")
		s.VLLM.Policy = rapid.SampledFrom([]string{"fcfs", "priority"}).Draw(t, "policy")
	}
	if rapid.Bool().Draw(t, "limited") {
		n := rapid.IntRange(8, 40).Draw(t, "model length")
		s.MaxModelLen = &n
	}
}

func drawTasks(t *rapid.T, blockSize int) tasks {
	gap := rapid.SampledFrom([]float64{0, 0, 0.5, 1, 3, 10.7, 200})
	at, n := rapid.SampledFrom([]float64{0, 5}).Draw(t, "first"), rapid.IntRange(1, 25).Draw(t, "requests")
	var out tasks
	for i := range n {
		in, wants := rapid.IntRange(1, 30).Draw(t, "in"), rapid.IntRange(0, 25).Draw(t, "out")
		ids := rapid.SliceOfN(rapid.Uint64Range(0, 2), (in+blockSize-1)/blockSize, (in+blockSize-1)/blockSize).Draw(t, "ids")
		name := fmt.Sprint("r", i)
		out = append(out, &trace.Task{ID: name, ReleaseMs: at, Nodes: []trace.Node{{
			ID: name, Line: int32(i + 1), Extends: -1, Input: token.Blocks(ids, blockSize, in, 0),
			InputTokens: int32(in), OutputTokens: int32(wants), Priority: int32(rapid.IntRange(0, 1).Draw(t, "priority")),
		}}})
		at += gap.Draw(t, "gap")
	}
	return out
}

// drawLimits may end a run early.
func (s *scene) drawLimits(t *rapid.T) {
	if rapid.Bool().Draw(t, "capped") {
		ms := rapid.SampledFrom([]float64{0, 1, 5, 10, 37.4, 400}).Draw(t, "cap")
		s.limits.MaxSimTimeMs = &ms
	}
	if rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
		n := rapid.IntRange(0, 10).Draw(t, "at most")
		s.limits.Requests = &n
	}
}

// Going from instant to instant and running ahead, with any number of workers, give
// the same rows, samples and summary.
func TestRunningAheadChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.drawLimits(t)
		plain := s.play(t, way{stepwise: true})
		for _, w := range []way{{workers: 1}, {workers: 2, batch: 1}, {workers: 8, batch: 3}} {
			if diff := compare(plain, s.play(t, w), true); diff != "" {
				t.Fatalf("%+v:\n%s", w, diff)
			}
		}
	})
}

// More calls than are placed ahead at once, and passes in more than one window.
func TestLongRunsAreTheSameInAllWays(t *testing.T) {
	for _, rules := range []string{"vllm", "aisimulate"} {
		t.Run(rules, func(t *testing.T) {
			var m tasks
			for i := range 9_000 {
				n := trace.Node{ID: fmt.Sprint(i), Extends: -1, InputTokens: int32(1 + i*7%40), OutputTokens: int32(1 + i*i%9)}
				m = append(m, &trace.Task{ID: n.ID, ReleaseMs: float64(i/3) * 7.25, Nodes: []trace.Node{n}})
			}
			s := setUpF(m)
			s.model = latency.Fixed{PrefillMs: 9.7, DecodeMs: 1.3}
			s.engine.Rules, s.instances, s.sampleMs = rules, 5, 1000
			plain := s.play(t, way{stepwise: true})
			for _, workers := range []int{1, 8} {
				if diff := compare(plain, s.play(t, way{workers: workers}), true); diff != "" {
					t.Fatalf("%d workers:\n%s", workers, diff)
				}
			}
		})
	}
}

// drawWay draws how a scene is played.
func drawWay(t *rapid.T) way {
	return way{stepwise: rapid.Bool().Draw(t, "stepwise"), workers: rapid.IntRange(1, 3).Draw(t, "workers"), batch: rapid.IntRange(0, 4).Draw(t, "batch")}
}

// Requests that complete unclipped get exactly what they asked for, one time for each
// token, and between them one gap less for each.
func TestTokensAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawScene(t).play(t, drawWay(t))
		gaps, out := int64(0), int64(0)
		for i := range o.rows {
			r := &o.rows[i]
			clipped := r.Reason == metrics.ContextClipped
			if r.Status == metrics.Completed && (r.OutputTokens != r.RequestedTokens) != clipped {
				t.Fatalf("it got %d of %d tokens: %+v", r.OutputTokens, r.RequestedTokens, *r)
			}
			if int(r.OutputTokens) != len(r.TokenMs) {
				t.Fatalf("%d tokens at %d times: %+v", r.OutputTokens, len(r.TokenMs), *r)
			}
			if r.Status == metrics.Completed {
				gaps += max(0, int64(r.OutputTokens)-1)
				out += int64(r.OutputTokens)
			}
		}
		if gaps != o.gaps || out != o.summary.OutputTokens {
			t.Fatalf("%d gaps and %d tokens by rows, %d and %d by the summary", gaps, out, o.gaps, o.summary.OutputTokens)
		}
	})
}

// No clock goes back: what happens to a request happens in order, and requests arrive
// in the order of their rows.
func TestTimesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.drawLimits(t)
		o := s.play(t, drawWay(t))
		arrival, end := 0.0, 0.0
		for i := range o.rows {
			r := &o.rows[i]
			moments := append([]float64{arrival, r.ArrivalMs, r.SubmitMs, r.AdmitMs}, r.TokenMs...)
			inOrder(t, append(moments, r.EndMs))
			inOrder(t, []float64{r.AdmitMs, r.FirstMs, r.SecondMs, r.LastMs, r.EndMs})
			if n := len(r.TokenMs); n > 1 && (r.FirstMs != r.TokenMs[0] || r.SecondMs != r.TokenMs[1] || r.LastMs != r.TokenMs[n-1]) {
				t.Fatalf("its tokens came at other times: %+v", *r)
			}
			arrival = r.ArrivalMs
			if r.Status != metrics.Unfinished { // those end at the cap, when nothing happens any more
				end = max(end, r.EndMs)
			}
		}
		if o.end.ClockMs < end {
			t.Fatalf("the run ends at %v, a request at %v", o.end.ClockMs, end)
		}
		var sampled []float64
		for i := range o.samples {
			sampled = append(sampled, o.samples[i].TimeMs)
		}
		inOrder(t, sampled)
	})
}

// inOrder checks that times do not go back; those that are undefined do not count.
func inOrder(t *rapid.T, times []float64) {
	times = slices.DeleteFunc(slices.Clone(times), math.IsNaN)
	if !slices.IsSorted(times) {
		t.Fatalf("a clock goes back: %v", times)
	}
}

// Every request of the trace is somewhere, whatever ends the run.
func TestAccountingAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.drawLimits(t)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		if rapid.Bool().Draw(t, "interrupted") {
			stop()
		}
		o, err := s.run(ctx, t, drawWay(t), func() {
			if rapid.IntRange(0, 5).Draw(t, "interrupt") == 0 {
				stop()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		o.addsUp(t, s.trace.Report().Calls)
	})
}

// addsUp checks the accounting of DESIGN.md 7.
func (o *outcome) addsUp(t must, inTrace int) {
	a := o.summary.Accounting
	byStatus := map[metrics.Status]int64{}
	for i := range o.rows {
		byStatus[o.rows[i].Status]++
		if o.rows[i].Status != metrics.Completed && o.rows[i].Reason == "" {
			t.Fatal(fmt.Sprintf("no reason: %+v", o.rows[i]))
		}
	}
	same := a.Offered == int64(len(o.rows)) && a.InTrace == int64(inTrace) && a.InTrace == a.Offered+a.NotReleased &&
		a.Offered == a.Completed+a.Rejected+a.Failed+a.Cancelled+a.Unfinished &&
		a.Completed == byStatus[metrics.Completed] && a.Rejected == byStatus[metrics.Rejected] &&
		a.Failed == byStatus[metrics.Failed] && a.Unfinished == byStatus[metrics.Unfinished]
	if !same {
		t.Fatal(fmt.Sprintf("%d in the trace, rows %v, accounting %+v", inTrace, byStatus, a))
	}
	if o.end.Reason == "" && a.Unfinished > 0 {
		t.Fatal("the run is over and requests are unfinished")
	}
}

// A run that is interrupted says so, in the requests that were open and in those that
// had not arrived.
func TestAnInterruptedRunSaysSo(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "r%d@%d:8/20 ", i, i)
	}
	s := setUpF(flat(t, text.String()))
	o, err := s.run(ctx, t, way{stepwise: true}, stop)
	if err != nil {
		t.Fatal(err)
	}
	o.addsUp(t, 2000)
	a := o.summary.Accounting
	if o.end.Reason != workload.Interrupted || a.Completed == 0 || a.Unfinished == 0 || o.left[workload.Interrupted] == 0 {
		t.Errorf("end %+v, accounting %+v, not released %v", o.end, a, o.left)
	}
	for i := range o.rows {
		if r := &o.rows[i]; r.Status == metrics.Unfinished && (r.Reason != metrics.Interrupted || r.EndMs != o.end.ClockMs) {
			t.Fatalf("it ended at %v: %+v", o.end.ClockMs, *r)
		}
	}
}

// Rows of a file may stand in any order: with different times the run is the same.
func TestOrderOfRowsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	open := func(t must, name string, lines []string) trace.Trace {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		inputs, err := trace.OpenInputs(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := mooncake.Open(inputs, mooncake.Options{BlockSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		var lines []string
		at := 0
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			in := rapid.IntRange(1, 30).Draw(t, "in")
			ids := rapid.SliceOfN(rapid.Uint64Range(0, 2), (in+3)/4, (in+3)/4).Draw(t, "ids")
			lines = append(lines, fmt.Sprintf(`{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": %s}`,
				at, in, rapid.IntRange(1, 20).Draw(t, "out"), strings.ReplaceAll(fmt.Sprint(ids), " ", ",")))
			at += rapid.IntRange(1, 9).Draw(t, "gap")
		}
		s.trace = open(t, "in-order.jsonl", lines)
		ordered := s.play(t, drawWay(t))
		s.trace = open(t, "mixed.jsonl", rapid.Permutation(lines).Draw(t, "order"))
		if diff := compare(ordered, s.play(t, drawWay(t)), false); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A closed loop never has more than its number of requests in flight, keeps it as long
// as there are more, and a request arrives when another one has ended.
func TestClosedLoopKeepsItsNumberInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		n := rapid.IntRange(1, 6).Draw(t, "in flight")
		s.arrival.Mode, s.arrival.Concurrency = workload.ModeConcurrency, &n
		o := s.play(t, drawWay(t))
		o.addsUp(t, s.trace.Report().Calls)
		for i := range o.rows {
			r, before := &o.rows[i], 0
			ends := r.ArrivalMs == 0
			for k := range i { // those that arrived before it and are still there
				if o.rows[k].EndMs > r.ArrivalMs {
					before++
				}
				ends = ends || o.rows[k].EndMs == r.ArrivalMs
			}
			if before >= n || i < n && r.ArrivalMs > 0 || !ends {
				t.Fatalf("request %d arrives at %v beside %d others", i, r.ArrivalMs, before)
			}
		}
	})
}

package live_test

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// memory is a trace of tasks.
type memory []*trace.Task

func (m memory) Header() trace.Header { return trace.Header{Depth: trace.Tokens} }

func (m memory) Report() *trace.Report {
	r := &trace.Report{Tasks: len(m)}
	for _, t := range m {
		r.Calls += t.Calls()
		r.LastMs = t.ReleaseMs
		for i := range t.Nodes {
			r.InputTokens += int64(t.Nodes[i].InputTokens)
			r.OutputTokens += int64(t.Nodes[i].OutputTokens)
		}
	}
	return r
}

func (m memory) Tasks() (trace.Source, error) { return &memorySource{m}, nil }

type memorySource struct{ left memory }

func (s *memorySource) Next() (*trace.Task, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	t := s.left[0]
	s.left = s.left[1:]
	return t, nil
}

func (s *memorySource) Close() error { return nil }

// perToken is how long the server takes for an output token, in ms; prompts cost
// nothing.
const perToken = 10

// drawGraphs draws tasks of random graphs: calls, tools and waits that wait for the
// ends of others, for their being sent, or for a position of their outputs.
func drawGraphs(t *rapid.T) memory {
	ms := rapid.SampledFrom([]float64{0, 0, 1, 7, 25, 100})
	var m memory
	at := 0.0
	for i := range rapid.IntRange(1, 5).Draw(t, "tasks") {
		at += ms.Draw(t, "gap")
		task := &trace.Task{ID: fmt.Sprintf("t%d", i), ReleaseMs: at}
		for k := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			n := trace.Node{ID: fmt.Sprintf("t%d.%d", i, k), Extends: -1, Line: int32(10*i + k + 1), NotBeforeMs: ms.Draw(t, "not before"), DurationMs: ms.Draw(t, "duration"),
				Kind: rapid.SampledFrom([]trace.Kind{trace.LLM, trace.LLM, trace.LLM, trace.Tool, trace.Think}).Draw(t, "kind")}
			if n.Kind == trace.LLM {
				ids := make([]uint32, rapid.IntRange(1, 5).Draw(t, "output"))
				for j := range ids {
					ids[j] = uint32(100 + 10*k + j)
				}
				n.Input, n.InputTokens = token.IDs([]uint32{uint32(i), uint32(k), 5}), 3
				n.Output, n.OutputTokens = token.IDs(ids), int32(len(ids))
			}
			for from := range k {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					n.After = append(n.After, trace.Edge{From: int32(from), DelayMs: ms.Draw(t, "delay"), AtOutput: rapid.Int32Range(1, 6).Draw(t, "position"),
						Trigger: rapid.SampledFrom([]trace.Trigger{trace.Completion, trace.Dispatch, trace.Output}).Draw(t, "trigger")})
				}
			}
			task.Nodes = append(task.Nodes, n)
		}
		m = append(m, task)
	}
	return m
}

// virtual is when each call of a trace starts on a virtual clock, by the driver alone.
func virtual(t *rapid.T, m memory, s workload.Settings) map[string]float64 {
	d, err := workload.New(m, s, workload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]float64{}
	type open struct {
		workload.Call
		begun float64
	}
	busy := map[int32]open{}
	for !d.Drained() {
		now := d.Next()
		for _, o := range busy {
			n := &o.Task.Nodes[o.Node]
			now = min(now, o.begun+float64(n.OutputTokens)*perToken)
			if at := d.WantsProgress(o.Row); at > 0 && at <= n.OutputTokens {
				now = min(now, o.begun+float64(at)*perToken)
			}
		}
		for row, o := range busy {
			n := &o.Task.Nodes[o.Node]
			if done := (now - o.begun) / perToken; done >= float64(n.OutputTokens) {
				d.Done(row, workload.Outcome{Status: metrics.Completed, OutputTokens: n.OutputTokens}, now)
				delete(busy, row)
			} else if done >= 1 {
				d.Progress(row, int32(done), now)
			}
		}
		for _, c := range d.Release(now, nil) {
			starts[c.Task.Nodes[c.Node].ID] = now
			busy[c.Row] = open{c, now}
		}
	}
	return starts
}

// The wall clock keeps the schedule of the virtual one: on a server that takes known
// times, every call of any graph is due, and sent, when the driver alone would start
// it; none is lost, and every token comes back.
func TestTheWallClockKeepsTheScheduleOfTheVirtualOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := drawGraphs(rt)
		p := live.Defaults()
		p.ScrapeMs = 0
		if rapid.Bool().Draw(rt, "slots") {
			n := rapid.IntRange(1, 3).Draw(rt, "concurrency")
			p.Arrival.Mode, p.Arrival.Concurrency = workload.ModeConcurrency, &n
		}
		want := virtual(rt, m, p.Arrival)
		dir := filepath.Join(t.TempDir(), "run")
		o := livetest.Options{Plugin: true, PerOutput: perToken * time.Millisecond}
		result, err := run(t, o, p, m, live.Options{Out: dir})
		if err != nil {
			rt.Fatal(err)
		}
		if !result.Faithful() {
			rt.Fatalf("%+v, %+v", result.Repetitions[0].Fidelity, result.Repetitions[0].Failures)
		}
		got := arrivals(rt, dir)
		if len(got) != len(want) {
			rt.Fatalf("calls %v, want %v", got, want)
		}
		for id, at := range want {
			if sent := got[id]; math.Abs(sent[0]-at) > 1e-6 || math.Abs(sent[1]-at) > 1e-6 {
				rt.Fatalf("call %s was due and sent at %v, want %v (all: %v, want %v)", id, sent, at, got, want)
			}
		}
	})
}

// arrivals are when the calls of a run were due and were sent.
func arrivals(t *rapid.T, dir string) map[string][2]float64 {
	r, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, err := r.Requests()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all := map[string][2]float64{}
	var row rundir.Record
	for {
		switch err := in.Next(&row); err {
		case nil:
			all[row.Request] = [2]float64{row.ArrivalMs, row.SubmitMs}
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

package simulate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// scene is a workload and who serves it.
type scene struct {
	trace     trace.Trace
	arrival   workload.Settings
	limits    workload.Limits
	engine    engine.Settings
	model     latency.Model
	instances int
	placement func() routing.Placement // nil: round robin
	sampleMs  float64
}

// setUpF is set-up F of spec/replay.md 10: one instance, 64 blocks of 4 tokens, 4
// requests and 64 tokens a pass, 10 ms for a prefill and 2 for a decode.
func setUpF(tr trace.Trace) scene {
	s := scene{trace: tr, arrival: workload.Defaults(), engine: engine.Defaults(), instances: 1}
	s.model = latency.Fixed{PrefillMs: 10, DecodeMs: 2}
	s.arrival.Origin = workload.OriginRecorded
	s.engine.Rules = "aisimulate"
	s.engine.BlockSize, s.engine.NumGPUBlocks, s.engine.MaxNumSeqs, s.engine.MaxNumBatchedTokens = 4, 64, 4, 64
	return s
}

// way is how a scene is played, which must not change what happens.
type way struct {
	stepwise bool
	workers  int
	batch    int // calls placed ahead at once; 0: as usual
}

// outcome is what a run brought.
type outcome struct {
	rows    []metrics.Row
	samples []metrics.Sample
	gaps    int64
	uses    []metrics.Use
	counts  workload.Counts
	left    map[workload.Reason]int64 // not released
	summary *metrics.Summary
	end     simulate.End

	onRow func()
	tally *metrics.Tally
}

func (o *outcome) Row(_ int32, r *metrics.Row) error {
	row := *r
	row.TokenMs = slices.Clone(r.TokenMs)
	o.rows = append(o.rows, row)
	if o.onRow != nil {
		o.onRow()
	}
	return o.tally.Add(r)
}

func (o *outcome) Gaps(in *cluster.Instance, g *metrics.Gaps) error {
	return o.tally.Take(in.Bucket(), g)
}

func (o *outcome) Sample(s metrics.Sample) error {
	o.samples = append(o.samples, s)
	return nil
}

// must ends a test or a property at an error.
type must interface {
	Helper()
	Fatal(args ...any)
}

// play runs a scene that comes to its end.
func (s scene) play(t must, w way) *outcome {
	t.Helper()
	o, err := s.run(context.Background(), t, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// run runs a scene. onRow is called when a row is handed out, if it is not nil.
func (s scene) run(ctx context.Context, t must, w way, onRow func()) (*outcome, error) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(paged.Resolve(&s.engine))
	ledger := &metrics.Ledger{KeepTokens: true}
	var instances []*cluster.Instance
	for i := range s.instances {
		e := cluster.Equipment{Rank: paged.New(&s.engine), Model: s.model, Ledger: ledger}
		instances = append(instances, cluster.NewInstance(0, int32(i), e))
	}
	driver, err := workload.New(s.trace, s.arrival, s.limits)
	check(err)
	defer driver.Close()
	placement := routing.New(routing.Defaults(), 42)
	if s.placement != nil {
		placement = s.placement()
	}
	setup := metrics.Setup{Buckets: []string{"default"}, ClosedLoop: s.arrival.Mode != workload.ModeTrace}
	o := &outcome{tally: metrics.NewTally(setup), onRow: onRow}
	defer o.tally.Close()
	loop := &simulate.Loop{
		Driver: driver, Service: cluster.New(instances, placement), Ledger: ledger, Observer: o,
		CapMs: math.Inf(1), SampleMs: s.sampleMs, Workers: w.workers, Stepwise: w.stepwise,
	}
	loop.SetBatch(w.batch)
	if s.limits.MaxSimTimeMs != nil {
		loop.CapMs = *s.limits.MaxSimTimeMs
	}
	o.end, err = loop.Run(ctx)
	if err != nil {
		return o, err
	}
	o.counts, o.left = driver.Counts(), driver.NotReleased()
	run := metrics.Run{LatencyModel: s.model.Name(), InTrace: int64(s.trace.Report().Calls), NotReleased: o.left}
	for _, in := range instances {
		use := in.Use()
		o.gaps += use.Gaps.Moments().N
		run.Uses = append(run.Uses, use)
	}
	o.uses = run.Uses
	o.summary, err = o.tally.Summary(run)
	check(err)
	return o, nil
}

// told is everything that a run brought as text, floats as their bits; labels only
// if they are meant to be the same.
func (o *outcome) told(labels bool) []string {
	var lines []string
	for i := range o.rows {
		r := &o.rows[i]
		if labels {
			lines = append(lines, fmt.Sprintf("%+v", r.Label))
		}
		times := []float64{r.ArrivalMs, r.SubmitMs, r.AdmitMs, r.FirstMs, r.SecondMs, r.LastMs, r.EndMs}
		lines = append(lines,
			fmt.Sprintf("%v %s on %d: %d in, %d of %d out", r.Status, r.Reason, r.Instance, r.InputTokens, r.OutputTokens, r.RequestedTokens),
			fmt.Sprintf("%d/%d cached, %d admissions, %d preemptions", r.CachedTokens, r.CachedMax, r.Admissions, r.Preemptions),
			fmt.Sprintf("times %x", bits(append(times, r.TokenMs...))))
	}
	for _, s := range o.samples {
		lines = append(lines, fmt.Sprintf("%+v", s))
	}
	lines = append(lines, fmt.Sprintf("clock %v, reason %q", o.end.ClockMs, o.end.Reason))
	lines = append(lines, fmt.Sprintf("%d offered, not released %v", o.counts.Offered, o.left))
	return append(lines, strings.Split(o.summaryText(), ",")...)
}

func bits(values []float64) []uint64 {
	out := make([]uint64, len(values))
	for i, v := range values {
		out[i] = math.Float64bits(v)
	}
	return out
}

func (o *outcome) summaryText() string {
	text, err := json.Marshal(o.summary)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// compare names the first difference of two runs, "" if there is none.
func compare(a, b *outcome, labels bool) string {
	x, y := a.told(labels), b.told(labels)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d lines, %d lines", len(x), len(y))
	}
	return ""
}

// tasks is a trace at hand.
type tasks []*trace.Task

func (m tasks) Header() trace.Header { return trace.Header{Format: "memory"} }

func (m tasks) Report() *trace.Report {
	r := &trace.Report{Rows: len(m), Tasks: len(m), Independent: true}
	for _, t := range m {
		r.Calls += t.Calls()
		r.Independent = r.Independent && t.Calls() == 1
	}
	return r
}

func (m tasks) Tasks() (trace.Source, error) {
	sorted := slices.Clone(m)
	slices.SortStableFunc(sorted, func(a, b *trace.Task) int { return cmp.Compare(a.ReleaseMs, b.ReleaseMs) })
	return &source{sorted}, nil
}

type source struct{ left tasks }

func (s *source) Close() error { return nil }
func (s *source) Next() (*trace.Task, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	t := s.left[0]
	s.left = s.left[1:]
	return t, nil
}

// flat reads requests, one a word: "A@10:8/2" arrives at 10 with 8 tokens and wants 2.
func flat(t testing.TB, text string) tasks {
	t.Helper()
	var out tasks
	for word := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(word, "@")
		task := &trace.Task{ID: name, Nodes: []trace.Node{{ID: name, Line: int32(len(out) + 1), Extends: -1}}}
		n := &task.Nodes[0]
		if _, err := fmt.Sscanf(rest, "%g:%d/%d", &task.ReleaseMs, &n.InputTokens, &n.OutputTokens); err != nil {
			t.Fatalf("%q: want NAME@MS:IN/OUT", word)
		}
		out = append(out, task)
	}
	return out
}

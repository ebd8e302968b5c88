package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
)

// rows is a trace of n requests, 10 ms apart.
func rows(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":%d}`+"\n", 10*i, 100+i%50, 20+i%30)
	}
	return write(t, t.TempDir(), "rows.jsonl", b.String())
}

// load is a configuration that is right.
func load(t testing.TB, s config.Sources) *config.Config {
	t.Helper()
	c, err := config.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// simulate runs a configuration.
func simulate(t testing.TB, s config.Sources, o config.Options) *config.Result {
	t.Helper()
	sim, err := config.Prepare(context.Background(), load(t, s), o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameFiles compares files of two runs.
func sameFiles(t testing.TB, a, b string, names ...string) {
	t.Helper()
	for _, name := range names {
		x, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(x) != string(y) {
			t.Errorf("%s of %s and %s differ", name, a, b)
		}
	}
}

// entries is what a folder holds.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

var results = []string{rundir.SummaryFile, rundir.RequestsFile, rundir.SamplesFile, rundir.TokensFile}

func TestResultsDoNotDependOnTheNumberOfThreads(t *testing.T) {
	dir, path := t.TempDir(), rows(t, 2000)
	for _, set := range [][]string{
		{"cluster.num_instances=5"},
		{"cluster.num_instances=3", "arrival.mode=concurrency", "arrival.concurrency=17"},
	} {
		var first string
		for _, workers := range []int{1, 2, 8} {
			out := filepath.Join(dir, fmt.Sprint(len(set), "-", workers))
			simulate(t, config.Sources{Trace: []string{path}, Out: out, Set: append(set, "output.tokens=true", "output.sample_interval_ms=100")},
				config.Options{Workers: workers})
			if first == "" {
				first = out
			}
			sameFiles(t, first, out, results...)
		}
	}
}

func TestARunIsRepeatedToTheByte(t *testing.T) {
	dir, path := t.TempDir(), rows(t, 300)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	simulate(t, config.Sources{Trace: []string{path}, Out: a, Set: []string{
		"cluster.num_instances=3", "output.tokens=true", "arrival.speedup=3", "sla.e2e_ms=900", "engine.rules=aisimulate",
	}}, config.Options{})
	again := config.Sources{File: filepath.Join(a, rundir.InfoFile), Out: b}
	simulate(t, again, config.Options{})
	sameFiles(t, a, b, results...)

	if err := os.WriteFile(path, []byte(`{"timestamp":0,"input_length":1,"output_length":1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	again.Out = filepath.Join(dir, "c")
	_, err := config.Prepare(context.Background(), load(t, again), config.Options{})
	if err == nil || !strings.Contains(err.Error(), "is not what it was") {
		t.Errorf("another trace is replayed in place of that of the run: %v", err)
	}
	if left := entries(t, again.Out); left != nil {
		t.Errorf("a run that was refused left %q", left)
	}
	again.Trace = []string{path}
	simulate(t, again, config.Options{})
}

func TestAnInterruptedRunIsCompleteAndSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	sim, err := config.Prepare(ctx, load(t, config.Sources{Trace: []string{rows(t, 3000)}, Out: dir, Set: []string{
		"arrival.mode=concurrency", "arrival.concurrency=4",
	}}), config.Options{Progress: func(int, int) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a := r.Summary.Accounting
	if !r.Info.Interrupted || a.Unfinished != 4 || a.Reasons["unfinished"]["interrupted"] != 4 || a.NotReleased == 0 ||
		a.Completed < 500 || a.InTrace != a.Offered+a.NotReleased {
		t.Fatalf("%+v", a)
	}
	if run, err := rundir.Open(dir); err != nil || !run.Info.Interrupted {
		t.Fatal(run, err)
	}
}

func TestAnAbortedRunLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var sim *config.Simulation
	sim, err := config.Prepare(context.Background(), load(t, config.Sources{Trace: []string{rows(t, 3000)}, Out: dir}),
		config.Options{Progress: func(int, int) {
			if err := sim.Abort(); err != nil {
				t.Error(err)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := sim.Run(context.Background()); err == nil {
		t.Fatalf("a result: %+v", r)
	}
	if left := entries(t, dir); left != nil {
		t.Fatalf("left %q", left)
	}
}

func TestWhoIsInterruptedBeforeTheStartLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := config.Prepare(ctx, load(t, config.Sources{Trace: []string{rows(t, 3)}, Out: dir}), config.Options{})
	if !errors.Is(err, context.Canceled) || entries(t, dir) != nil {
		t.Fatal(err, entries(t, dir))
	}
}

// What a run wrote as a trace gives the same run, and the same trace again.
func TestARunThatIsWrittenAsATraceReplays(t *testing.T) {
	sessions := "../examples/sessions.jsonl"
	for name, c := range map[string]struct {
		trace  string
		set    []string
		second []string // in place of set
	}{
		"flat":     {rows(t, 200), []string{"cluster.num_instances=2"}, nil},
		"closed":   {rows(t, 200), []string{"arrival.mode=concurrency", "arrival.concurrency=3"}, nil},
		"sessions": {sessions, []string{"trace.block_size=16"}, []string{}},
		"faster":   {sessions, []string{"trace.block_size=16", "arrival.speedup=2"}, []string{"arrival.speedup=1"}},
		"slots":    {sessions, []string{"trace.block_size=16", "arrival.mode=concurrency", "arrival.concurrency=2"}, []string{"arrival.mode=concurrency", "arrival.concurrency=2"}},
		// A task without a call is the first, the calls of the second come after those of the third.
		"tools":       {tools(t), []string{"arrival.speedup=3"}, []string{}},
		"tools, slot": {tools(t), []string{"arrival.mode=concurrency", "arrival.concurrency=1"}, nil},
		"tools, many": {tools(t), []string{"arrival.mode=concurrency", "arrival.concurrency=9"}, nil},
		"limited":     {rows(t, 200), []string{"limits.requests=20", "engine.num_gpu_blocks=3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.second == nil {
				c.second = c.set
			}
			path, set := c.trace, c.set
			var runs []string
			for i := range 3 {
				out := filepath.Join(dir, fmt.Sprint(i))
				simulate(t, config.Sources{Trace: []string{path}, Out: out, Set: append(set, "output.trace=true")}, config.Options{})
				path, set = filepath.Join(out, "trace.jsonl"), c.second
				runs = append(runs, out)
			}
			if a, b := withoutLines(t, runs[0]), withoutLines(t, runs[1]); a != b {
				t.Errorf("the table of requests differs:\n%s\n%s", a, b)
			}
			sameFiles(t, runs[1], runs[2], rundir.RequestsFile)
			sameFiles(t, runs[0], runs[1], "trace.jsonl")
			sameFiles(t, runs[1], runs[2], "trace.jsonl")
		})
	}
}

// tools is a trace of tasks that begin with tools, or have nothing else.
func tools(t testing.TB) string {
	t.Helper()
	return write(t, t.TempDir(), "tools.jsonl", `{"schema":"reprise.trace","version":1}
{"id":"a","kind":"tool","not_before_ms":20,"duration_ms":40.5}
{"id":"b/0","task":"b","kind":"tool","not_before_ms":30,"duration_ms":500}
{"id":"b/1","task":"b","kind":"llm","after":[{"id":"b/0"}],"input":{"length":90},"output":{"length":5}}
{"id":"c","kind":"llm","not_before_ms":30,"input":{"length":80},"output":{"length":3}}
{"id":"d","kind":"think","not_before_ms":100,"duration_ms":1}
`)
}

// withoutLines is the table of requests of a run without the lines of the trace.
func withoutLines(t *testing.T, dir string) string {
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := run.Requests()
	if err != nil {
		t.Fatal(err)
	}
	defer requests.Close()
	var b strings.Builder
	for {
		var r rundir.Record
		if requests.Next(&r) != nil {
			return b.String()
		}
		r.Line = 0
		fmt.Fprintf(&b, "%+v\n", r)
	}
}

// The driver finds out only with the trace at hand that settings do not fit it; the
// place of the setting is still told.
func TestWhatTheTraceRefusesNamesTheSetting(t *testing.T) {
	path := write(t, t.TempDir(), "t.jsonl", `{"input_length":5,"output_length":5}`+"\n")
	_, err := config.Prepare(context.Background(), load(t, config.Sources{Trace: []string{path}, Set: []string{"arrival.mode=trace"}}), config.Options{})
	want := "--set arrival.mode=trace: arrival.mode: trace: want an arrival timestamp of each task (1 of 1 have none, the first is \"request_1\", line 1), or mode concurrency"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = config.Prepare(context.Background(), load(t, config.Sources{Trace: []string{"missing.jsonl"}}), config.Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	far := write(t, t.TempDir(), "far.jsonl", `{"timestamp":0,"input_length":5,"output_length":5}`+"\n"+`{"timestamp":1e12,"input_length":5,"output_length":5}`+"\n")
	out := filepath.Join(t.TempDir(), "run")
	_, err = config.Prepare(context.Background(), load(t, config.Sources{Trace: []string{far}, Out: out, Set: []string{"cluster.num_instances=2"}}), config.Options{})
	want = "output.sample_interval_ms: 1000: want more: tasks arrive over 1e+12 ms, which would be 2e+09 lines of instances.csv; 2e+05 ms give 10000000, output.samples: false gives none"
	if err == nil || err.Error() != want || len(entries(t, out)) > 0 {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	bad := write(t, t.TempDir(), "bad.jsonl", `{"timestamp":0,"input_length":-5,"output_length":5}`+"\n")
	_, err = config.Prepare(context.Background(), load(t, config.Sources{Trace: []string{bad}}), config.Options{})
	if refusal := (*trace.Refusal)(nil); !errors.As(err, &refusal) {
		t.Error(err)
	}
}

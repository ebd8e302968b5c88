package accuracy

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/latency/roofline"
)

const header = "id,group,source,trust,hardware,model,engine,mode,arrival,isl,osl,concurrency,batch_size,extra,metric,stat,value,unit\n"

// Rows that are equal but for their figure are one run.
func TestRowsOfOneRunAreJoined(t *testing.T) {
	cases, err := Read("m.csv", strings.NewReader(header+
		"1,g,s,A,h100_sxm,Llama-3.1-8B,vllm,agg,closed-loop,1000,100,4,,a=b;c=2,ttft,mean,30,ms\n"+
		"2,g,s,A,h100_sxm,Llama-3.1-8B,vllm,agg,closed-loop,1000,100,8,,,tpot,mean,9,ms\n"+
		"3,g,s,A,h100_sxm,Llama-3.1-8B,vllm,agg,closed-loop,1000,100,4,,a=b;c=2,tpot,mean,8,ms\n"))
	if err != nil || len(cases) != 2 {
		t.Fatal(cases, err)
	}
	c := cases[0]
	if len(c.Values) != 2 || c.Values[1].Name() != "tpot mean" || c.Values[1].Value != 8 || c.Extra["c"] != "2" || c.Line != 2 || !c.closed() || c.open() {
		t.Errorf("%+v", c)
	}
}

func TestRowsThatAreBrokenAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "m.csv: want a header and rows",
		"source,model\nx,y\n": "m.csv: no column hardware",
		header + "1,g,s,A,h100_sxm,m,vllm,agg,closed-loop,many,1,1,,,ttft,mean,1,ms\n": `m.csv:2: isl: "many": want a number`,
		header + "1,g\n": "wrong number of fields",
	} {
		if _, err := Read("m.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What comes with the program may be passed on and is of trust A and B; all its rows are
// predicted, or left out for a reason that somebody wrote down.
func TestBundledMeasurementsAreUsable(t *testing.T) {
	cases, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, c := range cases {
		values += len(c.Values)
		if c.Trust != "A" && c.Trust != "B" || strings.HasPrefix(c.Source, "blis-sim") || c.Source == "nvidia-nim-docs" {
			t.Errorf("line %d: source %s, trust %s", c.Line, c.Source, c.Trust)
		}
	}
	if values < 4500 || len(bundled) > 1<<20 {
		t.Errorf("%d figures in %d bytes", values, len(bundled))
	}
}

// of chooses bundled cases of a source.
func of(t testing.TB, source string) []*Case {
	t.Helper()
	all, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	var cases []*Case
	for _, c := range all {
		if c.Source == source {
			cases = append(cases, c)
		}
	}
	return cases
}

// total is the group of a metric in a report.
func total(t testing.TB, r *Report, metric string, experts bool) *Group {
	t.Helper()
	for i := range r.Totals {
		if g := &r.Totals[i]; g.Metric == metric && g.Experts == experts {
			return g
		}
	}
	t.Fatalf("no figures of %s", metric)
	return nil
}

// The targets of spec/latency.md 3.4 for KV blocks, on counts that real servers logged.
func TestBlocksOfDenseModelsAreWithinTwoPercent(t *testing.T) {
	outcomes, err := Predict(context.Background(), of(t, "blis-kv-blocks"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e := total(t, Summarize(outcomes), "kv_blocks value", false).Errors; e.Count != 8 || e.P90 > 2 {
		t.Errorf("%+v", e)
	}
}

// The lines of docs/accuracy.md that can be computed at once are up to date; all of them
// are checked by accuracy/internal/page.
func TestThePageOfErrorsIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := Predict(context.Background(), append(of(t, "blis-kv-blocks"), of(t, "trtllm-performance-v0.6")...), Options{Calibrated: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Summarize(outcomes).Totals {
		e := &g.Errors
		kind := map[bool]string{true: "experts", false: "dense"}[g.Experts]
		line := fmt.Sprintf("| %s | %s | %s | %s | %d | %.1f | %.1f | %.1f | %+.1f |", g.Metric, g.Source, kind, g.Trust, e.Count, e.MAPE, e.Median, e.P90, e.Bias)
		if !bytes.Contains(page, []byte(line)) {
			t.Errorf("no line %s: make accuracy", line)
		}
	}
}

// A closed loop keeps its slots full: the first wave is all slots, lengths are drawn
// from 0.8 to 1.0 of nominal, ten requests a slot end.
func TestClosedLoopsAreThoseOfTheGenerator(t *testing.T) {
	c := &Case{
		Hardware: "h100_sxm", Model: "meta-llama/Llama-3.1-8B-Instruct", Engine: "vllm", Version: "0.20", Mode: "agg", Arrival: "closed-loop",
		Spread: "uniform[0.8,1.0]", Input: 1000, Output: 100, Concurrency: 6,
	}
	s, err := Deploy(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Price(s, true)
	if err != nil {
		t.Fatal(err)
	}
	run := func() *Served {
		served, err := closedLoop(c, &s, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		return served
	}
	a, b := run(), run()
	if n := len(a.TTFT); n != 60 || a.Wave != 6 {
		t.Errorf("%d requests, %d in the first wave", n, a.Wave)
	}
	if mean := float64(a.Tokens) / 60; mean < 80 || mean > 100 {
		t.Errorf("%v tokens a request", mean)
	}
	if a.ClockMs != b.ClockMs || a.Tokens != b.Tokens {
		t.Error("two runs differ")
	}
	if wave, steady := Mean(a.TTFT[:6]), Mean(a.TTFT[6:]); wave <= steady {
		t.Errorf("the wave waits %v ms, the others %v", wave, steady)
	}
}

// Figures of dense models and of models with experts, and levels of trust, never meet.
func TestGroupsAreNeverMixed(t *testing.T) {
	v := Value{Metric: "tpot", Stat: "mean", Value: 10}
	a, b := &Case{Source: "s", Trust: "A"}, &Case{Source: "s", Trust: "B"}
	r := Summarize([]Outcome{
		{Case: a, Value: v, Predicted: 11}, {Case: a, Value: v, Predicted: 8}, {Case: b, Value: v, Predicted: 10},
		{Case: a, Value: v, Predicted: 15, Experts: true}, {Case: a, Value: v, LeftOut: "too odd"}, {Case: b, Value: v, LeftOut: "too odd"},
	})
	if len(r.Totals) != 3 || len(r.LeftOut) != 1 || r.LeftOut[0].Figures != 2 {
		t.Fatalf("%+v", r)
	}
	if e := r.Totals[0].Errors; e.Count != 2 || math.Abs(e.MAPE-15) > 1e-9 || math.Abs(e.Bias+5) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if w := r.Totals[0].Worst; len(w) != 2 || math.Abs(w[0].Error+20) > 1e-9 {
		t.Errorf("worst %+v", w)
	}
}

// What is not understood of a case is said, and nothing is guessed.
func TestCasesThatAreNotUnderstoodAreLeftOut(t *testing.T) {
	known := Case{Trust: "A", Hardware: "h100_sxm", Model: "Llama-3.1-8B", Engine: "vllm", Mode: "agg", Arrival: "closed-loop", Input: 10, Output: 10, Concurrency: 1}
	for _, c := range []struct {
		change func(*Case)
		want   string
	}{
		{func(c *Case) { c.Trust = "C" }, "trust C"},
		{func(c *Case) { c.Hardware = "tpu_v9" }, "hardware tpu_v9: not in the catalogue"},
		{func(c *Case) { c.Model = "GPT-J 6B" }, "model GPT-J 6B: not in the catalogue"},
		{func(c *Case) { c.Mode = "disagg" }, "mode disagg, arrival closed-loop: not simulated"},
		{func(c *Case) { c.TP = 3 }, "32 heads over 3 GPUs"},
		{func(c *Case) { c.Engine = "lightllm" }, `engine "lightllm"`},
	} {
		odd := known
		odd.Values = []Value{{Metric: "tpot", Stat: "mean", Value: 1, Unit: "ms"}}
		c.change(&odd)
		outcomes, err := Predict(context.Background(), []*Case{&odd}, Options{})
		if err != nil || len(outcomes) != 1 || !strings.Contains(outcomes[0].LeftOut, c.want) {
			t.Errorf("%+v, %v, want %s", outcomes, err, c.want)
		}
	}
}

// Calibrations are judged on what was held out: the targets of spec/latency.md 3.4 for
// times per output token, over all engines.
func TestHeldOutErrorsReachTheirTargets(t *testing.T) {
	for _, c := range []struct {
		experts bool
		mean    float64
	}{{false, 9}, {true, 15}} {
		sum, runs := 0.0, 0
		for _, row := range roofline.Calibrations() {
			if row.GPU == "*" && row.Experts == c.experts {
				sum, runs = sum+float64(row.Runs)*row.MAPE, runs+row.Runs
			}
		}
		if mean := sum / float64(runs); runs < 600 || mean > c.mean {
			t.Errorf("experts %v: mean error %.1f %% on %d runs, want %v", c.experts, mean, runs, c.mean)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(header + "1,g,s,A,h100_sxm,m,vllm,agg,closed-loop,10,1,1,,a=b,ttft,mean,1,ms\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cases, err := Read("m.csv", bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range cases {
			if len(c.Values) == 0 {
				t.Errorf("line %d has no figure", c.Line)
			}
			c.closed()
			c.stages()
			c.written()
		}
	})
}

// Logs of clients are read or refused.
func FuzzReadRequests(f *testing.F) {
	f.Add([]byte(`{"output_toks":3,"queued_ts":1,"first_token_ts":2,"last_token_ts":3}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := t.TempDir() + "/requests.jsonl"
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := readRequests(path)
		if err != nil {
			return
		}
		for _, ms := range append(s.TTFT, s.E2E...) {
			if ms < 0 {
				t.Errorf("%v ms", ms)
			}
		}
	})
}

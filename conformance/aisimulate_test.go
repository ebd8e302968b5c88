package conformance

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	_ "github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/mooncake"
	"github.com/reprise-sim/reprise/workload"
)

// replayCase is one case of the reference simulator.
type replayCase struct {
	Name      string `json:"name"`
	Input     string `json:"input"`
	Format    string `json:"format"`
	BlockSize int    `json:"trace_block_size"`
	Delta     bool   `json:"delta"`
	Load      struct {
		Mode        string  `json:"mode"`
		Speedup     float64 `json:"speedup"`
		MaxInFlight *int    `json:"max_in_flight"`
	} `json:"load"`
	Topology struct {
		Kind    string `json:"kind"`
		Workers int    `json:"workers"`
	} `json:"topology"`
	Router struct {
		Policy string `json:"policy"`
	} `json:"router"`
	Engine struct {
		Eviction string `json:"kv_eviction_policy"`
		DPSize   int    `json:"dp_size"`
		Rank     *struct {
			Backend       string  `json:"backend"`
			NumGPUBlocks  int     `json:"num_gpu_blocks"`
			BlockSize     int     `json:"block_size"`
			MaxModelLen   *int    `json:"max_model_len"`
			MaxNumSeqs    *int    `json:"max_num_seqs"`
			MaxBatched    *int    `json:"max_num_batched_tokens"`
			PrefixCaching bool    `json:"enable_prefix_caching"`
			Chunked       bool    `json:"enable_chunked_prefill"`
			Speedup       float64 `json:"speedup_ratio"`
			DecodeSpeedup float64 `json:"decode_speedup_ratio"`
			Nextn         *int    `json:"aic_nextn"`
			Preemption    string  `json:"preemption_mode"`
			Timing        struct {
				Type      string   `json:"type"`
				PrefillMs *float64 `json:"prefill_ms"`
				DecodeMs  *float64 `json:"decode_ms"`
			} `json:"timing_model"`
			Host  json.RawMessage `json:"native_host_offload"`
			G3    json.RawMessage `json:"g3_offload"`
			State json.RawMessage `json:"state_cache"`
		} `json:"rank"`
	} `json:"engine"`
	SLA *struct {
		TTFT *float64 `json:"ttft_ms"`
		ITL  *float64 `json:"itl_ms"`
		E2E  *float64 `json:"e2e_ms"`
	} `json:"sla"`
	CapMs         *float64 `json:"max_sim_time_ms"`
	Preemptions   int64    `json:"preemptions"`
	ExpectedError string   `json:"expected_error"`
	Expected      string   `json:"expected"`
	Summary       string   `json:"expected_summary"`
}

// replayRow is what the reference did with one request.
type replayRow struct {
	Row         int       `json:"row"`
	Status      string    `json:"status"`
	ArrivalMs   float64   `json:"arrival_ms"`
	AdmitMs     *float64  `json:"admitted_ms"`
	FirstMs     *float64  `json:"first_token_ms"`
	LastMs      *float64  `json:"last_token_ms"`
	EndMs       float64   `json:"terminal_ms"`
	Input       int32     `json:"input_tokens"`
	Output      int32     `json:"output_tokens"`
	Reused      int32     `json:"reused_tokens"`
	Worker      int32     `json:"worker"`
	Preemptions int32     `json:"preemptions"`
	TokenMs     []float64 `json:"token_ms"`
}

// needs names the features of a case that are not built, "" if all are.
func (c *replayCase) needs() string {
	r := c.Engine.Rank
	switch {
	case c.Topology.Kind != "aggregated":
		return "prefill/decode disaggregation"
	case r.Backend != "vllm":
		return "engine " + r.Backend
	case c.Router.Policy != "round_robin":
		return "router " + c.Router.Policy
	case c.Format != "":
		return "trace format " + c.Format
	case c.Delta:
		return "delta sessions"
	case c.Engine.DPSize > 1:
		return "attention data parallelism"
	case r.Nextn != nil:
		return "speculative decoding"
	case given(r.Host) || given(r.G3):
		return "cache tiers below the device"
	case given(r.State):
		return "recurrent state cache"
	case c.Engine.Eviction != "lru":
		return "eviction policy " + c.Engine.Eviction
	}
	return ""
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// The rules named aisimulate give every request the times, tokens, reuse,
// preemptions and worker that the reference simulator gives it, and the same
// summary; going from instant to instant and running ahead alike.
func TestReplaysEqualTheReferenceSimulator(t *testing.T) {
	eachCase(t, func(t *testing.T, dir string, raw json.RawMessage) {
		var c replayCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		if missing := c.needs(); missing != "" {
			t.Skip("needs " + missing)
		}
		if c.ExpectedError != "" {
			t.Skip("the reference stops with an error: " + c.ExpectedError)
		}
		for _, stepwise := range []bool{false, true} {
			got := c.run(t, dir, stepwise)
			got.compareRows(t, readLines[replayRow](t, dir, c.Expected))
			got.compareSummary(t, &c, readFile(t, dir, c.Summary))
		}
	}, func(engine string) bool { return engine == "aisimulate" })
}

// replay is a run under comparison: it observes the loop.
type replay struct {
	rows    map[int]metrics.Row // by line of the input, from 0
	tally   *metrics.Tally
	summary *metrics.Summary
}

func (r *replay) Row(_ int32, row *metrics.Row) error {
	r.rows[int(row.Line)-1] = *row
	return r.tally.Add(row)
}

func (r *replay) Gaps(in *cluster.Instance, g *metrics.Gaps) error {
	return r.tally.Take(in.Bucket(), g)
}
func (r *replay) Sample(metrics.Sample) error { return nil }

// settings are those of a rank of the case.
func (c *replayCase) settings() engine.Settings {
	r := c.Engine.Rank
	s := engine.Defaults()
	s.Rules = "aisimulate"
	s.NumGPUBlocks, s.BlockSize, s.MaxModelLen = r.NumGPUBlocks, r.BlockSize, r.MaxModelLen
	s.MaxNumSeqs, s.MaxNumBatchedTokens = math.MaxInt32, math.MaxInt32
	if r.MaxNumSeqs != nil {
		s.MaxNumSeqs = *r.MaxNumSeqs
	}
	if r.MaxBatched != nil {
		s.MaxNumBatchedTokens = *r.MaxBatched
	}
	s.EnablePrefixCaching, s.EnableChunkedPrefill = r.PrefixCaching, r.Chunked
	s.AISimulate.PreemptionMode = r.Preemption
	return s
}

// run replays a case.
func (c *replayCase) run(t *testing.T, dir string, stepwise bool) *replay {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := c.Engine.Rank
	model, err := latency.New(latency.Settings{
		Model: r.Timing.Type, Speedup: r.Speedup, DecodeSpeedup: r.DecodeSpeedup, PrefillMs: r.Timing.PrefillMs, DecodeMs: r.Timing.DecodeMs,
	})
	must(err)
	settings := c.settings()
	must(engine.Resolve(&settings))
	ledger := &metrics.Ledger{KeepTokens: true}
	var instances []*cluster.Instance
	for i := range c.Topology.Workers {
		instances = append(instances, cluster.NewInstance(0, int32(i), cluster.Equipment{Rank: engine.New(&settings), Model: model, Ledger: ledger}))
	}
	inputs, err := trace.OpenInputs(existing(filepath.Join(dir, c.Input)))
	must(err)
	tr, err := mooncake.Open(inputs, mooncake.Options{BlockSize: c.BlockSize})
	must(err)
	arrival := workload.Defaults()
	arrival.Mode, arrival.Concurrency = c.Load.Mode, c.Load.MaxInFlight
	if c.Load.Mode == workload.ModeTrace {
		arrival.Speedup = c.Load.Speedup
	}
	driver, err := workload.New(tr, arrival, workload.Limits{MaxSimTimeMs: c.CapMs})
	must(err)
	defer driver.Close()
	setup := metrics.Setup{Buckets: []string{"default"}, ClosedLoop: c.Load.Mode != workload.ModeTrace}
	if c.SLA != nil {
		setup.SLA = &metrics.SLA{TTFTMs: c.SLA.TTFT, ITLMs: c.SLA.ITL, E2EMs: c.SLA.E2E}
	}
	got := &replay{rows: map[int]metrics.Row{}, tally: metrics.NewTally(setup)}
	defer got.tally.Close()
	loop := simulate.Loop{
		Driver: driver, Service: cluster.New(instances, routing.New(routing.Defaults(), 42)), Ledger: ledger, Observer: got,
		CapMs: math.Inf(1), SampleMs: 1000, Stepwise: stepwise,
	}
	if c.CapMs != nil {
		loop.CapMs = *c.CapMs
	}
	end, err := loop.Run(context.Background())
	must(err)
	run := metrics.Run{
		LatencyModel: model.Name(), InTrace: int64(tr.Report().Calls), NotReleased: driver.NotReleased(),
		DecodeFleet: metrics.Fleet{WorkerSeconds: float64(c.Topology.Workers) * end.ClockMs / 1000, GPUs: 1},
	}
	for _, in := range instances {
		run.Uses = append(run.Uses, in.Use())
	}
	got.summary, err = got.tally.Summary(run)
	must(err)
	return got
}

// existing is path, or the gzipped file of that name.
func existing(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path + ".gz"
	}
	return path
}

// sameMs is whether two times agree to 1e-6 ms; an undefined one is NaN or null.
func sameMs(got float64, want *float64) bool {
	if want == nil {
		return math.IsNaN(got)
	}
	return math.Abs(got-*want) <= 1e-6
}

func (r *replay) compareRows(t *testing.T, want []replayRow) {
	t.Helper()
	ended := 0
	for _, row := range r.rows {
		if row.Status != metrics.Unfinished {
			ended++
		}
	}
	if ended != len(want) {
		t.Errorf("%d requests have ended, want %d", ended, len(want))
	}
	for i := range want {
		w := &want[i]
		g, ok := r.rows[w.Row]
		if !ok {
			t.Errorf("row %d was not offered", w.Row)
			continue
		}
		same := g.Status.String() == w.Status && sameMs(g.ArrivalMs, &w.ArrivalMs) && sameMs(g.AdmitMs, w.AdmitMs) &&
			sameMs(g.FirstMs, w.FirstMs) && sameMs(g.LastMs, w.LastMs) && sameMs(g.EndMs, &w.EndMs) &&
			g.InputTokens == w.Input && g.OutputTokens == w.Output && g.CachedMax == w.Reused &&
			g.Instance == w.Worker && g.Preemptions == w.Preemptions &&
			(w.TokenMs == nil || slices.EqualFunc(g.TokenMs, w.TokenMs, func(a, b float64) bool { return sameMs(a, &b) }))
		if !same {
			t.Errorf("row %d:\n got %+v\nwant %s", w.Row, g, asJSON(w))
		}
	}
}

// notOurs are keys of the reference's report that a summary does not have.
var notOurs = []string{"kv_eviction_policy", "committed_prefill_tokens", "processed_tokens", "power_w", "power_coverage"}

func (r *replay) compareSummary(t *testing.T, c *replayCase, reference []byte) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(reference, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(asJSON(r.summary)), &got); err != nil {
		t.Fatal(err)
	}
	if n := r.summary.Preemptions; n != c.Preemptions {
		t.Errorf("%d preemptions, want %d", n, c.Preemptions)
	}
	for key, w := range want {
		w, isNumber := w.(float64)
		if !isNumber || slices.Contains(notOurs, key) {
			continue
		}
		g, ok := got[key]
		if !ok {
			t.Errorf("summary lacks %s, want %v", key, w)
			continue
		}
		if g == nil && w == 0 { // undefined; the reference prints 0
			continue
		}
		if v, isNumber := g.(float64); !isNumber || math.Abs(v-w) > tolerance(key)*max(1, math.Abs(w)) {
			t.Errorf("%s is %v, want %v", key, g, w)
		}
	}
}

// tolerance is relative. The reference's percentiles of gaps and rates come from a
// sketch with 0.1 % error.
func tolerance(key string) float64 {
	sketched := strings.HasSuffix(key, "_itl_ms") || strings.HasSuffix(key, "_output_token_throughput_per_user")
	for _, p := range []string{"median_", "p75_", "p90_", "p95_", "p99_"} {
		if sketched && strings.HasPrefix(key, p) {
			return 1.1e-3
		}
	}
	return 1e-9
}

package accuracy

import (
	"context"
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	_ "github.com/reprise-sim/reprise/engine/paged" // the engine there is
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/capacity"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/synth"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// Defaults of engines where a case does not state them: token budget of a pass and
// fraction of the memory (vLLM 0.11 and later on data-centre GPUs, TensorRT-LLM,
// SGLang: 8192 tokens).
const (
	defaultTokens      = 8192
	defaultUtilization = 0.9
	blockSize          = 16
)

// promptsPerSlot is how many prompts the generator of closed-loop sweeps sends for
// each unit of concurrency (spec/latency.md 3.5).
const promptsPerSlot = 10

// Served is what a simulated run brought, ms.
type Served struct {
	TTFT, TPOT, E2E []float64 // of each request, in order of arrival; TPOT is NaN below two tokens
	// Wave is how many of them belong to the first wave: they all started at once.
	Wave int
	// Tokens is all output tokens, ClockMs how long the run took.
	Tokens  int64
	ClockMs float64
}

// engineSettings are the settings of a rank of a case.
func (c *Case) engineSettings(s *roofline.Setup) (engine.Settings, error) {
	e := engine.Defaults()
	e.BlockSize = blockSize
	e.MaxNumBatchedTokens, e.MaxNumSeqs = c.tokens(), c.seqs(s)
	plan, err := c.plan(s)
	if err != nil {
		return e, err
	}
	e.NumGPUBlocks = plan.Blocks
	if n := int(c.extra("prefill_schedule_interval")); n > 1 {
		e.DPSize, e.PrefillScheduleInterval = s.Deployment.Layout.DP, n
	}
	return e, engine.Resolve(&e)
}

// tokens is the budget of a pass.
func (c *Case) tokens() int {
	if c.MaxTokens > 0 {
		return c.MaxTokens
	}
	return defaultTokens
}

// seqs is the number of requests that may run at once: published sweeps set it to the
// concurrency or beyond.
func (c *Case) seqs(s *roofline.Setup) int {
	if c.MaxSeqs > 0 {
		return c.MaxSeqs
	}
	if c.Arrival == "all-at-once" {
		return offlineRequests
	}
	return min(max(c.slots(s), 256), c.tokens())
}

// plan is the memory of a case.
func (c *Case) plan(s *roofline.Setup) (capacity.Breakdown, error) {
	p := capacity.Settings{Utilization: defaultUtilization, BlockSize: blockSize, MaxTokens: c.tokens(), MaxSeqs: c.seqs(s)}
	if c.Utilization > 0 {
		p.Utilization = c.Utilization
	}
	if c.engine() == "trtllm" {
		p.Rule = capacity.OfFree
	}
	return capacity.Plan(s.Deployment, &s.GPU, p)
}

// slots is the concurrency of one attention data-parallel rank.
func (c *Case) slots(s *roofline.Setup) int {
	dp := s.Deployment.Layout.DP
	return max(1, (c.Concurrency+dp-1)/dp)
}

// closedLoop runs a case of fixed concurrency.
func closedLoop(c *Case, s *roofline.Setup, m latency.Model, passes cluster.PassObserver) (*Served, error) {
	settings, err := c.engineSettings(s)
	if err != nil {
		return nil, err
	}
	slots := c.slots(s)
	spec := synth.Defaults()
	spec.Tasks, spec.BlockSize = promptsPerSlot*slots, settings.BlockSize
	spec.Input, spec.Output = c.lengths(c.Input), c.lengths(c.Output)
	t, err := synth.New(spec)
	if err != nil {
		return nil, err
	}
	arrivals := workload.Defaults()
	arrivals.Mode, arrivals.Concurrency = workload.ModeConcurrency, &slots
	served, err := serve(t, arrivals, settings, m, passes)
	if served != nil {
		served.Wave = slots
	}
	return served, err
}

// lengths are the lengths of a case: drawn from 0.8 to 1.0 of nominal, or fixed.
func (c *Case) lengths(nominal int) *arrival.DistributionSettings {
	low, high := math.Ceil(0.8*float64(nominal)), float64(nominal)
	if c.Spread == "uniform[0.8,1.0]" {
		return &arrival.DistributionSettings{Distribution: "uniform", Min: &low, Max: &high}
	}
	return &arrival.DistributionSettings{Distribution: "fixed", Value: &high}
}

// serve runs a trace on one instance.
func serve(t trace.Trace, arrivals workload.Settings, s engine.Settings, m latency.Model, passes cluster.PassObserver) (*Served, error) {
	driver, err := workload.New(t, arrivals, workload.Limits{})
	if err != nil {
		return nil, err
	}
	defer driver.Close()
	seen := &watcher{served: &Served{}}
	ledger := &metrics.Ledger{}
	in := cluster.NewInstance(0, 0, cluster.Equipment{Rank: engine.New(&s), BlockSize: s.BlockSize, Model: m, Ledger: ledger, Passes: passes})
	loop := &simulate.Loop{
		Driver: driver, Ledger: ledger, Observer: seen, CapMs: math.Inf(1), Workers: 1,
		Service: cluster.New([]*cluster.Instance{in}, routing.New(routing.Defaults(), 0)),
	}
	end, err := loop.Run(context.Background())
	if err != nil {
		return nil, err
	}
	seen.served.ClockMs = end.ClockMs
	return seen.served, seen.err
}

// watcher collects the times of requests.
type watcher struct {
	served *Served
	err    error
}

// Row implements [simulate.Observer].
func (w *watcher) Row(_ int32, r *metrics.Row) error {
	if r.Status != metrics.Completed {
		return fmt.Errorf("request %s: %v (%s)", r.Request, r.Status, r.Reason)
	}
	w.served.TTFT = append(w.served.TTFT, r.TTFTMs())
	w.served.TPOT = append(w.served.TPOT, r.TPOTMs())
	w.served.E2E = append(w.served.E2E, r.E2EMs())
	w.served.Tokens += int64(r.OutputTokens)
	return nil
}

// Gaps implements [simulate.Observer].
func (w *watcher) Gaps(*cluster.Instance, *metrics.Gaps) error { return nil }

// Sample implements [simulate.Observer].
func (w *watcher) Sample(metrics.Sample) error { return nil }

// Mean is the mean of finite numbers, NaN if there are none.
func Mean(list []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

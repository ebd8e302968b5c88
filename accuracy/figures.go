package accuracy

import (
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/fit"
	"github.com/reprise-sim/reprise/latency/roofline"
)

// figures are what was predicted of a case, by name of the figure, in ms, tokens a
// second or blocks.
type figures struct {
	byName       map[string]float64
	wave, steady float64 // mean times to first token, ms
}

// of is the prediction of a figure in its unit.
func (f *figures) of(v *Value) (float64, bool) {
	p, ok := f.byName[v.Name()]
	if v.Unit == "s" {
		p /= 1000
	}
	return p, ok
}

// servedFigures sums up a simulated run.
func servedFigures(c *Case, s *roofline.Setup, r *Served) figures {
	f := figures{byName: summary(r)}
	f.wave, f.steady = Mean(r.TTFT[:min(r.Wave, len(r.TTFT))]), Mean(r.TTFT[min(r.Wave, len(r.TTFT)):])
	rate := float64(r.Tokens) * float64(s.Deployment.Layout.DP) / r.ClockMs * 1000
	for _, stat := range []string{" mean", " total"} {
		f.byName["output_throughput"+stat] = rate
		f.byName["output_throughput_per_gpu"+stat] = rate / float64(s.Deployment.Layout.GPUs())
	}
	return f
}

// summary is the figures of the requests of a run by name.
func summary(r *Served) map[string]float64 {
	byName := map[string]float64{}
	for name, list := range map[string][]float64{"ttft": r.TTFT, "tpot": r.TPOT, "itl": r.TPOT, "request_latency": r.E2E} {
		byName[name+" mean"] = Mean(list)
		for stat, q := range map[string]float64{"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99} {
			byName[name+" "+stat] = fit.Quantile(list, q)
		}
	}
	return byName
}

// static computes a batch that starts at once and ends at once: all prompts in one
// pass, then a pass for each further token.
func static(c *Case, m latency.Model) (figures, error) {
	var prompts, decodes latency.Pass
	for range c.Batch {
		prompts.AddPrefill(int64(c.Input), 0)
		decodes.AddDecode(int64(c.Input) + 1)
	}
	prompts.Sampled, decodes.Sampled = int64(c.Batch), int64(c.Batch)
	first, err := m.Cost(&prompts)
	if err != nil {
		return figures{}, err
	}
	steps := make([]float64, max(0, c.Output-1))
	if err := m.Decodes(&decodes, steps); err != nil {
		return figures{}, err
	}
	firstMs := first.PrefillMs + first.DecodeMs
	total := firstMs
	for _, ms := range steps {
		total += ms
	}
	f := figures{byName: map[string]float64{}}
	for _, stat := range []string{" mean", " median"} {
		f.byName["prefill_time"+stat] = firstMs
		f.byName["first_token_latency"+stat] = firstMs
		f.byName["decode_step_time"+stat] = fit.Median(steps)
		f.byName["request_latency"+stat] = total
	}
	return f, nil
}

// blocksOnly is whether a case is a count of KV blocks.
func (c *Case) blocksOnly() bool {
	return !slices.ContainsFunc(c.Values, func(v Value) bool { return v.Metric != "kv_blocks" })
}

// blocks is the number of KV blocks that the capacity model says.
func blocks(c *Case, s *roofline.Setup) (figures, error) {
	plan, err := c.plan(s)
	if err != nil {
		return figures{}, fmt.Errorf("capacity: %w", err)
	}
	return figures{byName: map[string]float64{"kv_blocks value": float64(plan.Blocks)}}, nil
}

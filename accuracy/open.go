package accuracy

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/synth"
	"github.com/reprise-sim/reprise/workload"
)

// openLoop runs a case of Poisson arrivals, stage after stage: prompts share the
// system prompt of their group, and each group's users send the same prompt again and
// again, as the generator of the runs does.
func openLoop(c *Case, s *roofline.Setup, m latency.Model, passes cluster.PassObserver) (*Served, error) {
	settings, err := c.engineSettings(s)
	if err != nil {
		return nil, err
	}
	rates, seconds, err := c.stages()
	if err != nil {
		return nil, err
	}
	all := &Served{}
	for i, rate := range rates {
		spec := c.openSpec(rate, seconds[i], settings.BlockSize)
		t, err := synth.New(spec)
		if err != nil {
			return nil, err
		}
		served, err := serve(t, workload.Defaults(), settings, m, passes)
		if err != nil {
			return nil, err
		}
		all.TTFT, all.TPOT, all.E2E = append(all.TTFT, served.TTFT...), append(all.TPOT, served.TPOT...), append(all.E2E, served.E2E...)
		all.Tokens += served.Tokens
		all.ClockMs += served.ClockMs
	}
	return all, nil
}

// openSpec is the load of one stage.
func (c *Case) openSpec(rate, seconds float64, blockSize int) synth.Spec {
	spec := synth.Defaults()
	spec.Tasks, spec.BlockSize = max(1, int(rate*seconds)), blockSize
	spec.Arrival = &arrival.ProcessSettings{Process: "poisson", Rate: &rate}
	spec.Input, spec.Output = c.lengths(c.Input), c.lengths(c.written())
	if shared := c.extra("shared_system_prompt"); shared > 0 {
		spec.PrefixGroups = int(max(1, c.extra("unique_prompts")))
		spec.SharedPrefixRatio = shared / float64(c.Input)
	}
	return spec
}

// written is the output tokens of a request on average. Models of these runs could end
// an answer early, so where the measured figures imply fewer tokens than were asked
// for, (latency − time to first token) / gap + 1, the requests of the workload had so
// many.
func (c *Case) written() int {
	mean := map[string]float64{}
	for _, v := range c.Values {
		if v.Stat == "mean" && v.Unit == "ms" {
			mean[v.Metric] = v.Value
		}
	}
	if mean["itl"] == 0 || mean["ttft"] == 0 || mean["request_latency"] == 0 {
		return c.Output
	}
	implied := int(math.Round((mean["request_latency"]-mean["ttft"])/mean["itl"])) + 1
	return max(1, min(c.Output, implied))
}

// extra is a further setting that is a number, 0 if it is not there.
func (c *Case) extra(key string) float64 {
	v, _ := strconv.ParseFloat(c.Extra[key], 64)
	return v
}

// stages are the rates of a case in requests per second, and how long each lasts.
func (c *Case) stages() (rates, seconds []float64, err error) {
	for _, text := range strings.Split(c.Rate, "+") {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("rate %q: not published", c.Rate)
		}
		rates = append(rates, rate)
	}
	for _, text := range strings.Split(c.Extra["stage_seconds"], "+") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("stage_seconds %q: not published", c.Extra["stage_seconds"])
		}
		seconds = append(seconds, v)
	}
	if len(rates) == 1 && len(seconds) > 1 {
		seconds = seconds[:1]
	}
	if len(rates) != len(seconds) {
		return nil, nil, fmt.Errorf("%d rates for %d stages", len(rates), len(seconds))
	}
	return rates, seconds, nil
}

// offlineRequests is how many requests stand in for a run of maximum throughput.
const offlineRequests = 2000

// offline runs a case whose requests all arrive at once.
func offline(c *Case, s *roofline.Setup, m latency.Model) (*Served, error) {
	settings, err := c.engineSettings(s)
	if err != nil {
		return nil, err
	}
	spec := synth.Defaults()
	spec.Tasks, spec.BlockSize = offlineRequests, settings.BlockSize
	spec.Arrival = &arrival.ProcessSettings{Process: "burst"}
	spec.Input, spec.Output = c.lengths(c.Input), c.lengths(c.Output)
	t, err := synth.New(spec)
	if err != nil {
		return nil, err
	}
	return serve(t, workload.Defaults(), settings, m, nil)
}

package config

import (
	"fmt"

	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// maxSamples is how many lines instances.csv may have for what is known of a run
// before it starts: they would be half a gigabyte.
const maxSamples = 10_000_000

// checkSamples refuses samples that are closer together than anybody can want over
// the time in which tasks arrive. How much longer a run takes is not known.
func (c *Config) checkSamples(r *trace.Report, instances int) error {
	if c.Output.Dir == nil || !c.Output.Samples || c.Arrival.Mode != workload.ModeTrace {
		return nil
	}
	spanMs := min((r.LastMs-r.FirstMs)/c.Arrival.Speedup, c.capMs())
	lines := (spanMs/c.Output.SampleIntervalMs + 1) * float64(instances)
	if lines <= maxSamples {
		return nil
	}
	least := spanMs * float64(instances) / maxSamples
	return &setting.Error{Field: "output.sample_interval_ms", Value: c.Output.SampleIntervalMs,
		Want: fmt.Sprintf("more: tasks arrive over %.4g ms, which would be %.3g lines of instances.csv; %.2g ms give %d, output.samples: false gives none", spanMs, lines, least, maxSamples)}
}

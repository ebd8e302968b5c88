package rundir

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `output:` (DESIGN.md 6) that say which files a run
// leaves. Zero values are not defaults; start from [Defaults].
type Settings struct {
	Dir              *string        `yaml:"dir" json:"dir" doc:"folder for the files of the run; null: none"`
	SampleIntervalMs float64        `yaml:"sample_interval_ms" json:"sample_interval_ms" doc:"virtual ms between two lines of an instance in instances.csv"`
	PerRequest       bool           `yaml:"per_request" json:"per_request" doc:"write per_request.csv, a line for each request"`
	Samples          bool           `yaml:"samples" json:"samples" doc:"write instances.csv, the state of each instance over time"`
	RoutingLog       setting.Switch `yaml:"routing_log" json:"routing_log" doc:"write routing_log.jsonl, every routing decision with its candidates; auto: unless it is round robin in one bucket"`
	Tokens           bool           `yaml:"tokens" json:"tokens" doc:"write tokens.jsonl, the time of every output token"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings {
	return Settings{SampleIntervalMs: 1000, PerRequest: true, Samples: true, RoutingLog: setting.Auto}
}

// leastIntervalMs is the shortest time between two samples: 1 µs, to which
// generated times are rounded.
const leastIntervalMs = 0.001

// Validate says everything that is wrong, as setting errors.
func (s Settings) Validate() error {
	var p setting.Problems
	p.Check(s.SampleIntervalMs >= leastIntervalMs && s.SampleIntervalMs <= math.MaxFloat64, "sample_interval_ms", s.SampleIntervalMs,
		"a finite number, at least 0.001")
	if s.Dir != nil {
		p.Check(*s.Dir != "", "dir", `""`, "a path or null")
	}
	return p.Err()
}

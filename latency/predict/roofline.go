package predict

import (
	"slices"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/setting"
)

// hardwareKeys are the settings that say what is run on what.
var hardwareKeys = []string{
	"gpu", "model_name", "weights", "kv_cache_dtype", "pipeline_parallel_size", "expert_parallel_size", "routing", "engine",
	"calibration", "kernels",
}

func init() {
	latency.Register("roofline", latency.Kind{
		About: "from a GPU and a language model: FLOPs and bytes of every operator at the speed of measured kernels, and the engine's own time",
		Keys:  hardwareKeys,
		Check: checkHardware,
		New: func(s latency.Settings, d latency.Deployment) (latency.Model, error) {
			setup, err := Setup(s, d)
			if err != nil {
				return nil, err
			}
			return roofline.New(setup)
		},
	})
}

// checkHardware notes what is wrong with settings that say what is run on what.
func checkHardware(s latency.Settings, p *setting.Problems) {
	p.Check(s.GPU != "", "gpu", "not set", "a GPU: model "+s.Model+" needs it (reprise catalog gpus)")
	p.Check(s.ModelName != "", "model_name", "not set", "a language model: model "+s.Model+" needs it (reprise catalog models)")
	checkOptions(s, p)
}

// checkOptions checks those settings that are words and counts.
func checkOptions(s latency.Settings, p *setting.Problems) {
	_, known := routings[s.Routing]
	p.Check(known, "routing", s.Routing, "one of recorded, random, uniform")
	p.Check(slices.Contains([]string{"", "auto", "off"}, s.Calibration), "calibration", s.Calibration, "auto or off")
	p.Check(s.Pipeline >= 0, "pipeline_parallel_size", s.Pipeline, "a number of stages above 0")
	p.Check(s.ExpertGPUs >= 0, "expert_parallel_size", s.ExpertGPUs, "a number of groups above 0")
}

package accuracy

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/latency/work"
)

// Deploy is what the roofline needs to price a case, without a calibration. The error
// says what of the case is not understood.
func Deploy(c *Case) (roofline.Setup, error) {
	s := roofline.Setup{Tables: kernel.BuiltIn(), Factors: roofline.Unit()}
	var err error
	if s.GPU, err = hardware.Find(c.Hardware); err != nil {
		return s, fmt.Errorf("hardware %s: not in the catalogue", c.Hardware)
	}
	model, err := arch.Find(modelName(c.Model))
	if err != nil {
		return s, fmt.Errorf("model %s: not in the catalogue", c.Model)
	}
	if s.Engine, err = roofline.FindEngine(c.engine()); err != nil {
		return s, err
	}
	d := work.Deployment{Model: model, Layout: c.layout(model.MoE()), Routing: work.Random}
	if d.Weights, err = c.weights(model); err != nil {
		return s, err
	}
	if d.Cache, err = c.cache(&d, &s.GPU); err != nil {
		return s, err
	}
	if w := &d.Weights[arch.Experts]; *w == precision.MXFP4 && s.GPU.Generation == "blackwell" {
		*w = precision.MXFP4FP8 // engines quantise the activations where the GPU multiplies fp8 with mxfp4
	}
	s.Deployment, err = work.New(d)
	return s, err
}

// modelName is the name of a model in the catalogue for that of a source: sources add
// formats and write names as words.
func modelName(name string) string {
	name = strings.ToLower(name)
	name, _, _ = strings.Cut(name, " (")
	name = strings.ReplaceAll(strings.NewReplacer("llama v", "llama ", " v3", " 3").Replace(name), " ", "-")
	for _, suffix := range []string{"-fp8-kv", "-fp8", "-nvfp4"} {
		if short, ok := strings.CutSuffix(name, suffix); ok {
			name = short
			break
		}
	}
	if renamed, ok := renamed[name]; ok {
		return renamed
	}
	return name
}

// renamed are models whose names in sources are not those of their publishers.
var renamed = map[string]string{"llama-3.3-70b": "llama-3.1-70b", "llama-4-maverick": "llama-4-maverick", "qwen3-235b-a22b": "qwen3-235b-a22b"}

// engine is the preset of the engine of a case: the profile of 2023 knew no graphs, and
// vLLM up to 0.12 decided a pass when the one before it was over.
func (c *Case) engine() string {
	switch {
	case c.Source == "splitwise-sim-profile":
		return "vllm-eager"
	case strings.Contains(c.Engine, "trtllm"):
		return "trtllm"
	case c.Engine == "vllm" && c.before(0, 13):
		return "vllm-0.12"
	}
	return c.Engine
}

// before is whether the version of the engine is older than major.minor. Sources
// that state none ran what there was in 2025.
func (c *Case) before(major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(c.Version, "%d.%d", &a, &b); n == 2 {
		return a < major || a == major && b < minor
	}
	return c.Version == ""
}

// Price is the model that prices a deployment, calibrated or as the kernel tables and
// the engine's preset say.
func Price(s roofline.Setup, calibrated bool) (latency.Model, error) {
	if calibrated {
		c, _ := roofline.Calibrated(s.Engine.Name, &s.GPU, s.Deployment.Model, s.Deployment.Weights)
		s.Factors = c.Factors
	}
	m, err := roofline.New(s)
	if err != nil {
		return nil, err
	}
	return latency.Scale(m, 1, 1)
}

// cache is the number format of the cache. Where a case does not state it, it is what
// checkpoints and published recipes ask for: fp8 under TensorRT-LLM if the weights are
// quantised (NVIDIA's checkpoints say so), and under vLLM on Blackwell.
func (c *Case) cache(d *work.Deployment, g *hardware.GPU) (precision.Format, error) {
	if c.Cache != "" {
		return precision.Find(c.Cache)
	}
	quantised := d.Weights[arch.MLP].Bytes < 2
	if quantised && (c.Engine == "trtllm" || c.Engine == "vllm" && g.Generation == "blackwell") {
		return precision.FP8, nil
	}
	return precision.BF16, nil
}

// layout is the layout of a case; what is not stated is 1, or follows from the rest.
func (c *Case) layout(moe bool) work.Layout {
	one := func(n int) int { return max(n, 1) }
	l := work.Layout{TP: one(c.TP), DP: one(c.DP), PP: one(c.PP), ExpertTP: one(c.ExpertTP), ExpertEP: one(c.ExpertEP)}
	if gpus := l.TP * l.DP; l.ExpertTP*l.ExpertEP != gpus || !moe {
		l.ExpertTP = max(1, gpus/l.ExpertEP)
	}
	return l
}

// weights are the formats of the checkpoint that a case most likely used: those that
// its publisher quantised.
func (c *Case) weights(m *arch.Model) (arch.Weights, error) {
	name := c.Weights
	switch {
	case name == "" || name == "unspecified":
		return m.Weights, nil
	case m.Weights[arch.Experts] == precision.MXFP4: // there is one checkpoint; sources call it nvfp4
		return m.Weights, nil
	}
	f, err := precision.Find(name)
	if err != nil {
		return arch.Weights{}, err
	}
	if f == precision.FP8 && (m.Weights[arch.Experts] == precision.FP8Block || m.MoE() && m.Weights[arch.Experts] != precision.FP8) {
		f = precision.FP8Block
	}
	w := arch.Uniform(f)
	if m.MoE() && f.Bytes < 1 { // NVIDIA's and Moonshot's 4-bit checkpoints leave attention as it was
		w[arch.AttentionProj], w[arch.LatentDown] = precision.BF16, precision.BF16
	}
	if f == precision.INT4 {
		w[arch.SharedExperts], w[arch.MLP] = precision.BF16, precision.BF16
	}
	return w, nil
}

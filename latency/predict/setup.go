package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/latency/work"
	"github.com/reprise-sim/reprise/setting"
)

// Hardware is whether settings name a GPU and a language model, so that the memory
// is known.
func Hardware(s latency.Settings) bool { return s.GPU != "" && s.ModelName != "" }

// GPU is the GPU that a setting names: one of the catalogue or the only row of a
// file.
func GPU(name string) (hardware.GPU, error) {
	if filepath.Ext(name) != ".csv" {
		return hardware.Find(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return hardware.GPU{}, err
	}
	list, err := hardware.ReadCSV(name, text)
	if err != nil {
		return hardware.GPU{}, err
	}
	if len(list) != 1 {
		return hardware.GPU{}, fmt.Errorf("%s: %d GPUs: want one", name, len(list))
	}
	return list[0], nil
}

// Model is the language model that a setting names: one of the catalogue, a
// config.json or a folder with one.
func Model(name string) (*arch.Model, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		name = filepath.Join(name, "config.json")
	} else if filepath.Ext(name) != ".json" {
		return arch.Find(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	title := strings.TrimSuffix(filepath.Base(name), ".json")
	if title == "config" {
		title = filepath.Base(filepath.Dir(name))
	}
	return arch.ReadConfig(name, title, f)
}

// Deployment is the language model as the settings spread it over GPUs.
func Deployment(s latency.Settings, d latency.Deployment) (*work.Deployment, error) {
	m, err := Model(s.ModelName)
	if err != nil {
		return nil, wrong("model_name", s.ModelName, err)
	}
	spread := work.Deployment{Model: m, Layout: layout(s, d), Weights: m.Weights, Cache: precision.BF16}
	if s.Weights != "" {
		if spread.Weights, err = arch.ParseWeights(s.Weights); err != nil {
			return nil, wrong("weights", s.Weights, err)
		}
	}
	if s.KVCache != "" {
		if spread.Cache, err = precision.Find(s.KVCache); err != nil {
			return nil, wrong("kv_cache_dtype", s.KVCache, err)
		}
	}
	spread.Routing = routings[s.Routing]
	made, err := work.New(spread)
	if err != nil {
		return nil, wrong("model_name", s.ModelName, err)
	}
	return made, nil
}

// routings are the profiles that settings can name.
var routings = map[string]work.Routing{"": work.Recorded, "recorded": work.Recorded, "random": work.Random, "uniform": work.Uniform}

// layout is the layout that the settings and the engine state.
func layout(s latency.Settings, d latency.Deployment) work.Layout {
	l := work.Layout{TP: d.TensorParallel, DP: d.DataParallel, PP: max(1, s.Pipeline), ExpertEP: max(1, s.ExpertGPUs)}
	l.ExpertTP = max(1, l.TP*l.DP/l.ExpertEP)
	return l
}

// Setup is what a roofline is made of.
func Setup(s latency.Settings, d latency.Deployment) (roofline.Setup, error) {
	made := roofline.Setup{Tables: kernel.BuiltIn(), Factors: roofline.Unit()}
	var err error
	if made.GPU, err = GPU(s.GPU); err != nil {
		return made, wrong("gpu", s.GPU, err)
	}
	if made.Deployment, err = Deployment(s, d); err != nil {
		return made, err
	}
	name := s.Engine
	if name == "" {
		name = d.Backend
	}
	if made.Engine, err = roofline.FindEngine(name); err != nil {
		return made, wrong("engine", name, err)
	}
	if s.Kernels != "" {
		text, err := os.ReadFile(s.Kernels)
		if err == nil {
			made.Tables, err = made.Tables.Over(s.Kernels, text)
		}
		if err != nil {
			return made, wrong("kernels", s.Kernels, err)
		}
	}
	if s.Calibration != "off" {
		if c, ok := roofline.Calibrated(made.Engine.Name, &made.GPU, made.Deployment.Model, made.Deployment.Weights); ok {
			made.Factors, made.Error = c.Factors, c.String()
		}
	}
	return made, nil
}

// wrong is an error about a setting. What names the value itself is cut to what is wanted
// of it.
func wrong(field string, value any, err error) error {
	want := err.Error()
	if _, after, ok := strings.Cut(want, fmt.Sprintf("%q: want ", value)); ok {
		want = after
	}
	return &setting.Error{Field: field, Value: value, Want: want}
}

package latency

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `latency:` (DESIGN.md 6). Zero values are not defaults;
// start from [Defaults].
type Settings struct {
	Model         string  `yaml:"model" json:"model" doc:"what prices a pass (reprise catalog latency)"`
	Speedup       float64 `yaml:"speedup" json:"speedup" doc:"divides the price of every pass; 0 is the same as 1"`
	DecodeSpeedup float64 `yaml:"decode_speedup" json:"decode_speedup" doc:"divides the price of decodes once more; 0: neither speed-up applies to them"`
	// HostUs is applied by whoever runs the passes, not by a model: when it starts
	// and what it overlaps with is known there.
	HostUs float64 `yaml:"host_us" json:"host_us" doc:"host time added to each pass, µs"`
	// RequestUs is applied by whoever submits requests: it lies in front of the engine.
	RequestUs float64 `yaml:"request_us" json:"request_us" doc:"time in the front end (HTTP, tokenising) between the routing of a request and its submission to the engine, µs"`

	PrefillMs *float64 `yaml:"prefill_ms,omitempty" json:"prefill_ms,omitempty" doc:"model fixed: price of the prefills of a pass, ms"`
	DecodeMs  *float64 `yaml:"decode_ms,omitempty" json:"decode_ms,omitempty" doc:"model fixed: price of the decodes of a pass, ms"`

	GPU         string `yaml:"gpu,omitempty" json:"gpu,omitempty" doc:"model roofline: GPU of the catalogue, or a .csv file with one (reprise catalog gpus)"`
	ModelName   string `yaml:"model_name,omitempty" json:"model_name,omitempty" doc:"model roofline: language model of the catalogue, or the path of its Hugging Face config.json (reprise catalog models)"`
	Weights     string `yaml:"weights,omitempty" json:"weights,omitempty" doc:"model roofline: number formats of the weights, such as fp8 or mxfp4 attention=bf16; empty: as the checkpoint says"`
	KVCache     string `yaml:"kv_cache_dtype,omitempty" json:"kv_cache_dtype,omitempty" doc:"model roofline: number format of the KV cache; empty: bf16"`
	Pipeline    int    `yaml:"pipeline_parallel_size,omitempty" json:"pipeline_parallel_size,omitempty" doc:"model roofline: pipeline stages; empty: 1"`
	ExpertGPUs  int    `yaml:"expert_parallel_size,omitempty" json:"expert_parallel_size,omitempty" doc:"model roofline: groups of GPUs that share the experts; empty: 1, every GPU has a part of each expert"`
	Routing     string `yaml:"routing,omitempty" json:"routing,omitempty" doc:"model roofline: which experts tokens choose: recorded (as measured on real text), random (on random tokens) or uniform; empty: recorded"`
	Engine      string `yaml:"engine,omitempty" json:"engine,omitempty" doc:"model roofline: preset of what the engine adds to its kernels; empty: that of engine.backend"`
	Calibration string `yaml:"calibration,omitempty" json:"calibration,omitempty" doc:"model roofline: auto weighs the parts of a pass as measured runs of the engine on such GPUs say, off does not; empty: auto"`
	Kernels     string `yaml:"kernels,omitempty" json:"kernels,omitempty" doc:"model roofline: .csv file with constants of kernels that come before the built-in ones"`
	Path        string `yaml:"path,omitempty" json:"path,omitempty" doc:"model table: folder or file of measured passes or operators; model fitted: the file that reprise fit wrote"`
	Outside     string `yaml:"outside,omitempty" json:"outside,omitempty" doc:"model table: what is done where nothing was measured: analytic (the roofline says it), clamp or error; empty: analytic if gpu and model_name are set, else clamp"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings {
	return Settings{Model: "polynomial", Speedup: 1, DecodeSpeedup: 1}
}

// Validate reports every wrong setting as a [setting.Error].
func (s Settings) Validate() error {
	var p setting.Problems
	p.Check(isSpeedup(s.Speedup), "speedup", s.Speedup, wantSpeedup)
	p.Check(isSpeedup(s.DecodeSpeedup), "decode_speedup", s.DecodeSpeedup, wantSpeedup)
	p.Check(isTime(s.HostUs), "host_us", s.HostUs, wantTime)
	p.Check(isTime(s.RequestUs), "request_us", s.RequestUs, wantTime)
	p.Check(isSpeedup(s.Speedup*s.DecodeSpeedup) || p.Err() != nil,
		"decode_speedup", s.DecodeSpeedup, "a product with speedup that is 0, or from 1e-06 to 1e+15")
	k, known := kinds[s.Model]
	p.Check(known, "model", s.Model, "one of "+strings.Join(Names(), ", "))
	if known {
		for _, o := range s.optional() {
			p.Check(!o.given || slices.Contains(k.Keys, o.key), o.key, "set", "nothing: model "+s.Model+" does not use it")
		}
		k.Check(s, &p)
	}
	return p.Err()
}

// optional lists the settings that belong to some models only.
func (s Settings) optional() []optional {
	return []optional{
		{"prefill_ms", s.PrefillMs != nil}, {"decode_ms", s.DecodeMs != nil},
		{"gpu", s.GPU != ""}, {"model_name", s.ModelName != ""}, {"weights", s.Weights != ""}, {"kv_cache_dtype", s.KVCache != ""},
		{"pipeline_parallel_size", s.Pipeline != 0}, {"expert_parallel_size", s.ExpertGPUs != 0}, {"routing", s.Routing != ""},
		{"engine", s.Engine != ""}, {"calibration", s.Calibration != ""}, {"kernels", s.Kernels != ""},
		{"path", s.Path != ""}, {"outside", s.Outside != ""},
	}
}

type optional struct {
	key   string
	given bool
}

const wantNotNegative = "a finite number, at least 0"

func notNegative(v float64) bool { return v >= 0 && v <= math.MaxFloat64 }

// Times and speed-ups are bounded so that no price leaves the range of a duration (2^64
// s, nanos.go): the longest time over the smallest speed-up is 1e18 s.
const (
	longestTime     = 1e15 // ms or µs
	smallestSpeedup = 1e-6

	wantTime    = "a number from 0 to 1e+15"
	wantSpeedup = "0, or a number from 1e-06 to 1e+15"
)

func isTime(v float64) bool { return v >= 0 && v <= longestTime }

func isSpeedup(v float64) bool { return v == 0 || v >= smallestSpeedup && v <= longestTime }

// Deployment is what a model may have to know of the engine whose passes it prices.
type Deployment struct {
	Backend        string // serving engine, such as vllm
	TensorParallel int    // GPUs of a rank
	DataParallel   int    // attention data-parallel ranks
}

// Kind is a model that settings can name.
type Kind struct {
	About string   // one line for a catalogue
	Keys  []string // settings that belong to some models only and that it uses
	// Check notes what is wrong with its settings.
	Check func(Settings, *setting.Problems)
	// New makes the model, in raw ms, of settings that are right.
	New func(Settings, Deployment) (Model, error)
}

// kinds are the registered models by name. Only init functions write it.
var kinds = map[string]Kind{}

// Register adds a model. It is called from init functions.
func Register(name string, k Kind) { kinds[name] = k }

// Names lists the models that [New] can make, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// About is one line on the model of that name, "" if there is none.
func About(name string) string { return kinds[name].About }

// New makes the model that s describes, speed-ups and rounding included, for an
// engine on one GPU.
func New(s Settings) (Model, error) {
	return NewFor(s, Deployment{Backend: "vllm", TensorParallel: 1, DataParallel: 1})
}

// NewFor makes the model that s describes for a deployment.
func NewFor(s Settings, d Deployment) (Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	raw, err := kinds[s.Model].New(s, d)
	if err != nil {
		return nil, err
	}
	return Scale(raw, s.Speedup, s.DecodeSpeedup)
}

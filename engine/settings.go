package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `engine:` (DESIGN.md 6). Zero values are not defaults;
// start from [Defaults].
type Settings struct {
	Backend string `yaml:"backend" json:"backend" doc:"serving engine whose scheduler is simulated" enum:"vllm"`
	Rules   string `yaml:"rules" json:"rules" doc:"rule set: vllm decides as the real scheduler of vLLM 0.32, aisimulate as the reference simulator 0.13; empty: the backend's own" enum:",vllm,vllm-0.32,aisimulate,aisimulate-0.13"`

	BlockSize               int      `yaml:"block_size" json:"block_size" doc:"tokens in a KV block"`
	NumGPUBlocks            int      `yaml:"num_gpu_blocks" json:"num_gpu_blocks" doc:"KV blocks of a rank; under the vllm rules one of them is never used. If latency.gpu and latency.model_name are set and this key is not, as many as fit into the memory"`
	MaxModelLen             *int     `yaml:"max_model_len" json:"max_model_len" doc:"most tokens of prompt and output together; null: no limit"`
	MaxNumSeqs              int      `yaml:"max_num_seqs" json:"max_num_seqs" doc:"most requests running at once"`
	MaxNumBatchedTokens     int      `yaml:"max_num_batched_tokens" json:"max_num_batched_tokens" doc:"token budget of a pass"`
	DPSize                  int      `yaml:"dp_size" json:"dp_size" doc:"attention data-parallel ranks of an instance"`
	TensorParallelSize      int      `yaml:"tensor_parallel_size" json:"tensor_parallel_size" doc:"GPUs that share a rank; a price depends on it only if the latency model knows the GPU"`
	EnablePrefixCaching     bool     `yaml:"enable_prefix_caching" json:"enable_prefix_caching" doc:"reuse the blocks of equal prefixes"`
	EnableChunkedPrefill    bool     `yaml:"enable_chunked_prefill" json:"enable_chunked_prefill" doc:"split prompts over passes when the budget is short"`
	KVCacheBytesPerToken    *float64 `yaml:"kv_cache_bytes_per_token" json:"kv_cache_bytes_per_token" doc:"bytes of a token in the KV cache of an instance, over all its layers and GPUs; null: those of latency.model_name, else unknown"`
	GPUMemoryUtilization    float64  `yaml:"gpu_memory_utilization" json:"gpu_memory_utilization" doc:"fraction of the memory that the engine may use, where num_gpu_blocks follows from latency.gpu and latency.model_name"`
	PrefillScheduleInterval int      `yaml:"prefill_schedule_interval" json:"prefill_schedule_interval" doc:"under attention data parallelism: prefills start only in every n-th pass"`

	VLLM       VLLM       `yaml:"vllm" json:"vllm" doc:"settings of the vllm rules"`
	AISimulate AISimulate `yaml:"aisimulate" json:"aisimulate" doc:"settings of the aisimulate rules"`
}

// VLLM are the settings that only the rules of the real vLLM know, named as there
// (spec/vllm-real.md 2).
type VLLM struct {
	AsyncScheduling           bool    `yaml:"async_scheduling" json:"async_scheduling" doc:"decide a pass while the one before it runs"`
	Policy                    string  `yaml:"policy" json:"policy" doc:"order of waiting requests and of preemption" enum:"fcfs,priority"`
	Watermark                 float64 `yaml:"watermark" json:"watermark" doc:"fraction of the blocks kept free at admission, 0 ≤ w < 1"`
	ReserveFullISL            bool    `yaml:"scheduler_reserve_full_isl" json:"scheduler_reserve_full_isl" doc:"admit a request only if all its known tokens fit"`
	LongPrefillTokenThreshold int     `yaml:"long_prefill_token_threshold" json:"long_prefill_token_threshold" doc:"most tokens of one request in a pass while others are there; 0: no limit"`
	LongPrefillAdaptive       bool    `yaml:"long_prefill_token_threshold_adaptive" json:"long_prefill_token_threshold_adaptive" doc:"raise that limit to a fair share of the budget"`
	MaxNumActiveSeqs          *int    `yaml:"max_num_active_seqs" json:"max_num_active_seqs" doc:"lower cap on running requests; null: max_num_seqs"`
	MaxNumScheduledTokens     *int    `yaml:"max_num_scheduled_tokens" json:"max_num_scheduled_tokens" doc:"second, smaller budget of a pass; null: max_num_batched_tokens"`
}

// AISimulate are the settings that only the rules of the reference simulator know
// (spec/engine.md 2.1).
type AISimulate struct {
	PreemptionMode string `yaml:"preemption_mode" json:"preemption_mode" doc:"who loses its blocks when there are too few: the last (lifo) or the first (fifo) running request" enum:"lifo,fifo"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings {
	return Settings{
		Backend:                 "vllm",
		BlockSize:               64,
		NumGPUBlocks:            16384,
		MaxNumSeqs:              256,
		MaxNumBatchedTokens:     8192,
		DPSize:                  1,
		TensorParallelSize:      1,
		EnablePrefixCaching:     true,
		EnableChunkedPrefill:    true,
		GPUMemoryUtilization:    0.9,
		PrefillScheduleInterval: 1,
		VLLM:                    VLLM{AsyncScheduling: true, Policy: "fcfs", ReserveFullISL: true},
		AISimulate:              AISimulate{PreemptionMode: "lifo"},
	}
}

// Builder makes the ranks of one backend.
type Builder struct {
	Backend string
	Doc     string // one line for `reprise catalog engines`
	Rules   []string
	// Resolve checks settings and fills in what follows from others (Rules);
	// wrong ones are reported as setting errors.
	Resolve func(s *Settings) error
	// New makes a rank from resolved settings.
	New func(s *Settings) Rank
}

var builders []Builder

// Register adds a backend. It is called from init functions.
func Register(b Builder) {
	builders = append(builders, b)
	slices.SortFunc(builders, func(a, b Builder) int { return cmp.Compare(a.Backend, b.Backend) })
}

// Builders lists the backends by name.
func Builders() []Builder { return slices.Clone(builders) }

// Resolve checks settings for their backend and fills in what follows.
func Resolve(s *Settings) error {
	b, err := find(s.Backend)
	if err != nil {
		return err
	}
	return b.Resolve(s)
}

// New makes a rank from resolved settings.
func New(s *Settings) Rank {
	b, err := find(s.Backend)
	if err != nil {
		panic(err)
	}
	return b.New(s)
}

func find(backend string) (*Builder, error) {
	var names []string
	for i := range builders {
		if builders[i].Backend == backend {
			return &builders[i], nil
		}
		names = append(names, builders[i].Backend)
	}
	return nil, &setting.Error{Field: "backend", Value: backend, Want: "one of " + strings.Join(names, ", ")}
}

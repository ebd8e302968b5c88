package paged

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/setting"
)

func init() {
	engine.Register(engine.Builder{
		Backend: "vllm",
		Doc:     "block pool with prefix cache, chunked prefill, recompute preemption",
		Rules:   []string{"vllm-0.32", "aisimulate-0.13"},
		Resolve: Resolve,
		New:     func(s *engine.Settings) engine.Rank { return New(s) },
	})
}

// Rule sets by the names they go by; the full name is what a run records.
var ruleSets = map[string]string{
	"": "vllm-0.32", "vllm": "vllm-0.32", "vllm-0.32": "vllm-0.32",
	"aisimulate": "aisimulate-0.13", "aisimulate-0.13": "aisimulate-0.13",
}

// Resolve checks the settings of a rank and fills in the full name of the rule
// set. Settings of the other rule set must stand at their defaults.
func Resolve(s *engine.Settings) error {
	var p setting.Problems
	full, known := ruleSets[s.Rules]
	p.Check(known, "rules", s.Rules, "vllm or aisimulate")
	checkCount(&p, "block_size", s.BlockSize, maxBlockSize)
	checkCount(&p, "num_gpu_blocks", s.NumGPUBlocks, math.MaxInt32)
	if s.MaxModelLen != nil {
		checkCount(&p, "max_model_len", *s.MaxModelLen, math.MaxInt32)
	}
	checkCount(&p, "max_num_seqs", s.MaxNumSeqs, math.MaxInt32)
	checkCount(&p, "max_num_batched_tokens", s.MaxNumBatchedTokens, math.MaxInt32)
	p.Check(s.TensorParallelSize > 0, "tensor_parallel_size", s.TensorParallelSize, "above 0")
	p.Check(s.KVCacheBytesPerToken == nil || *s.KVCacheBytesPerToken > 0 && *s.KVCacheBytesPerToken <= math.MaxFloat64, "kv_cache_bytes_per_token",
		deref(s.KVCacheBytesPerToken), "a finite number above 0, or null")
	p.Check(s.DPSize == 1, "dp_size", s.DPSize, "1: attention data parallelism is not simulated")
	p.Check(s.PrefillScheduleInterval == 1 || s.DPSize > 1 && s.PrefillScheduleInterval > 0, "prefill_schedule_interval",
		s.PrefillScheduleInterval, "1 without attention data parallelism")
	if !known {
		return p.Err()
	}
	s.Rules = full
	defaults := engine.Defaults()
	if full == "aisimulate-0.13" {
		p.Check(s.BlockSize >= 2, "block_size", s.BlockSize, "2 or more") // engine.md 2.1
		mode := s.AISimulate.PreemptionMode
		p.Check(mode == "lifo" || mode == "fifo", "aisimulate.preemption_mode", mode, "lifo or fifo")
		p.Check(s.VLLM == defaults.VLLM, "vllm", "settings", "none under rules: aisimulate")
		return p.Err()
	}
	p.Check(s.NumGPUBlocks > 1, "num_gpu_blocks", s.NumGPUBlocks, "2 or more: one block is never used")
	p.Check(s.AISimulate == defaults.AISimulate, "aisimulate", "settings", "none under rules: vllm")
	checkVLLM(&p, s)
	return p.Err()
}

// maxBlockSize is the largest block, in tokens: larger ones are a slip of the finger.
const maxBlockSize = 1 << 20

// checkCount notes a problem unless a count is from 1 to most.
func checkCount(p *setting.Problems, field string, n, most int) {
	p.Check(n >= 1 && n <= most, field, n, fmt.Sprintf("from 1 to %d", most))
}

// checkVLLM is what vLLM refuses at start (spec/vllm-real.md 2).
func checkVLLM(p *setting.Problems, s *engine.Settings) {
	v := &s.VLLM
	p.Check(v.Policy == "fcfs" || v.Policy == "priority", "vllm.policy", v.Policy, "fcfs or priority")
	p.Check(v.Watermark >= 0 && v.Watermark < 1, "vllm.watermark", v.Watermark, "0 ≤ w < 1")
	p.Check(v.LongPrefillTokenThreshold >= 0 && v.LongPrefillTokenThreshold <= math.MaxInt32, "vllm.long_prefill_token_threshold",
		v.LongPrefillTokenThreshold, fmt.Sprintf("from 0 (off) to %d", math.MaxInt32))
	if n := v.MaxNumActiveSeqs; n != nil {
		p.Check(*n > 0 && *n <= s.MaxNumSeqs, "vllm.max_num_active_seqs", *n, "above 0, no more than max_num_seqs")
	}
	if n := v.MaxNumScheduledTokens; n != nil {
		p.Check(*n > 0 && *n <= s.MaxNumBatchedTokens, "vllm.max_num_scheduled_tokens", *n, "above 0, no more than max_num_batched_tokens")
	}
	if s.MaxModelLen == nil {
		return
	}
	p.Check(v.LongPrefillTokenThreshold <= *s.MaxModelLen, "vllm.long_prefill_token_threshold", v.LongPrefillTokenThreshold, "no more than max_model_len")
	p.Check(s.EnableChunkedPrefill || s.MaxNumBatchedTokens >= *s.MaxModelLen, "max_num_batched_tokens", s.MaxNumBatchedTokens,
		"at least max_model_len without chunked prefill")
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

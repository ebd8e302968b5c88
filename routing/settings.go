package routing

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `cluster.router:` (DESIGN.md 6). Zero values are not
// defaults; start from [Defaults].
type Settings struct {
	Mode      string  `yaml:"mode" json:"mode" doc:"policy that chooses the instance; reprise catalog routers explains them" enum:"cache_affinity,cache_load,cache_score,estimated_ttft,least_loaded,least_tokens,power_of_two,precise,prefix_affinity,random,round_robin,session_affinity,ttl_aware"`
	LoadAlpha float64 `yaml:"load_alpha" json:"load_alpha" doc:"weight of a request in an instance's load: used KV blocks ÷ all + load_alpha × requests"`

	ScoreAlpha float64 `yaml:"score_alpha" json:"score_alpha" doc:"cache_score, cache_affinity: weight of the load"`
	ScoreBeta  float64 `yaml:"score_beta" json:"score_beta" doc:"cache_score, cache_affinity: weight of the share of the prompt's blocks that is missing"`

	PrefixK        int `yaml:"prefix_k" json:"prefix_k" doc:"prefix_affinity, cache_affinity: first blocks of the prompt that choose its owners"`
	AffinityFanOut int `yaml:"affinity_fan_out" json:"affinity_fan_out" doc:"cache_affinity: owners of a prompt; 0: 2"`

	PreciseProbeLatencyUs float64 `yaml:"precise_probe_latency_us" json:"precise_probe_latency_us" doc:"precise: time until an instance has answered, µs"`
	PreciseProbeTopK      int     `yaml:"precise_probe_topk" json:"precise_probe_topk" doc:"precise: instances that are asked"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings {
	return Settings{
		Mode: "round_robin", LoadAlpha: 0.1, ScoreAlpha: 1, ScoreBeta: 0.1,
		PrefixK: 8, PreciseProbeLatencyUs: 10, PreciseProbeTopK: 4,
	}
}

// Validate reports every wrong setting as a [setting.Error] (spec/buckets.md 2, rules
// 7 and 12).
func (s Settings) Validate() error {
	var p setting.Problems
	locals.check(s.Mode, &p)
	checkNotNegative(&p, "load_alpha", s.LoadAlpha)
	checkNotNegative(&p, "score_alpha", s.ScoreAlpha)
	checkNotNegative(&p, "score_beta", s.ScoreBeta)
	p.Check(s.PrefixK >= 1, "prefix_k", s.PrefixK, "a number of blocks, at least 1")
	p.Check(s.AffinityFanOut >= 0, "affinity_fan_out", s.AffinityFanOut, "a number of instances, or 0")
	checkNotNegative(&p, "precise_probe_latency_us", s.PreciseProbeLatencyUs)
	p.Check(s.PreciseProbeTopK >= 1, "precise_probe_topk", s.PreciseProbeTopK, "a number of instances, at least 1")
	return p.Err()
}

// Without refuses a mode that looks at something that a run has not, [Content] or
// [Prices], and names those that do without. The settings are valid.
func (s Settings) Without(missing Needs) error {
	return locals.without(s.Mode, missing, func(p *LocalPolicy) Needs { return p.New(s, nil).Needs() })
}

// GlobalSettings are the keys of `cluster.global_router:` (DESIGN.md 6). Zero values
// are not defaults; start from [GlobalDefaults].
type GlobalSettings struct {
	Mode string `yaml:"mode" json:"mode" doc:"policy that chooses the bucket; reprise catalog routers explains them" enum:"bucket_score,least_loaded,round_robin,spill,strict_input_length"`

	LengthPenaltyWeight float64 `yaml:"length_penalty_weight" json:"length_penalty_weight" doc:"bucket_score: weight of the distance to the bucket's range"`
	LoadWeight          float64 `yaml:"load_weight" json:"load_weight" doc:"bucket_score: weight of the bucket's load, requests ÷ (instances × max_num_seqs)"`
	CacheWeight         float64 `yaml:"cache_weight" json:"cache_weight" doc:"bucket_score: weight of the share of the prompt that the bucket would have to compute"`

	SpillLoad   float64 `yaml:"spill_load" json:"spill_load" doc:"spill: load above which the bucket that fits is left for the next larger one"`
	ViewDelayMs float64 `yaml:"view_delay_ms" json:"view_delay_ms" doc:"age of what the policy sees of the buckets, ms"`
}

// GlobalDefaults are the defaults of DESIGN.md 6.
func GlobalDefaults() GlobalSettings {
	return GlobalSettings{
		Mode: "strict_input_length", LengthPenaltyWeight: 1, LoadWeight: 1, CacheWeight: 1, SpillLoad: 1,
	}
}

// Validate reports every wrong setting as a [setting.Error] (spec/buckets.md 2, rules
// 7, 8 and 12).
func (s GlobalSettings) Validate() error {
	var p setting.Problems
	globals.check(s.Mode, &p)
	checkNotNegative(&p, "length_penalty_weight", s.LengthPenaltyWeight)
	checkNotNegative(&p, "load_weight", s.LoadWeight)
	checkNotNegative(&p, "cache_weight", s.CacheWeight)
	weightless := s.LengthPenaltyWeight == 0 && s.LoadWeight == 0 && s.CacheWeight == 0
	p.Check(s.Mode != "bucket_score" || !weightless, "length_penalty_weight", s.LengthPenaltyWeight,
		"a number above 0 here, in load_weight or in cache_weight: bucket_score needs one of them")
	checkNotNegative(&p, "spill_load", s.SpillLoad)
	checkNotNegative(&p, "view_delay_ms", s.ViewDelayMs)
	return p.Err()
}

// Without refuses a mode that looks at something that a run has not, and names those
// that do without. The settings are valid.
func (s GlobalSettings) Without(missing Needs) error {
	needs := func(p *GlobalPolicy) Needs { return p.New(s).Needs() }
	err := globals.without(s.Mode, missing, needs)
	if refused, ok := err.(*setting.Error); ok {
		if s.CacheWeight = 0; needs(globals.mustFind(s.Mode))&missing == 0 {
			refused.Want += "; or a cache_weight of 0"
		}
	}
	return err
}

// checkNotNegative notes a problem unless a value is finite and ≥ 0.
func checkNotNegative(p *setting.Problems, field string, v float64) {
	p.Check(v >= 0 && v <= math.MaxFloat64, field, v, "a finite number, at least 0")
}

package serve

import "math"

// usage counts the tokens of a call.
type usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	Details          promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	CachedTokens int32 `json:"cached_tokens"`
}

func (c *call) usage(s *State) *usage {
	n := len(c.prompt)
	return &usage{n, n + s.Tokens, s.Tokens, promptDetails{s.Cached}}
}

// times are the figures that vLLM gives of a call (spec/live.md A.9), of simulated
// time.
type times struct {
	QueueMs      *float64 `json:"queue_time_ms"`
	PrefillMs    *float64 `json:"time_to_first_token_ms"` // from the first admission
	DecodeMs     *float64 `json:"generation_time_ms"`
	MeanITLMs    *float64 `json:"mean_itl_ms"`
	TokensPerSec *float64 `json:"tokens_per_second"`
}

func timesOf(s *State) *times {
	t := &s.Times
	rate := float64(s.Tokens) * 1000 / (t.PrefillMs + t.DecodeMs)
	return &times{known(t.QueueMs), known(t.PrefillMs), known(t.DecodeMs), known(t.MeanITLMs), known(rate)}
}

// known is nil for what JSON cannot say.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

package serve

import (
	"encoding/json"
	"slices"
)

// sampling are the fields that requests of all kinds have in common: those that say how
// long an answer is, and those that this server has to refuse. What only changes which
// tokens a model chooses (temperature, penalties) has no effect: nothing is sampled.
type sampling struct {
	MaxTokens     *int            `json:"max_tokens"`
	MinTokens     int             `json:"min_tokens"`
	N             *int            `json:"n"`
	BestOf        *int            `json:"best_of"`
	Structured    json.RawMessage `json:"structured_outputs"`
	BadWords      []string        `json:"bad_words"`
	DecodeTokens  *[]int64        `json:"trace_decode_token_ids"` // of generate
	ReturnIDs     bool            `json:"return_token_ids"`
	SkipSpecial   *bool           `json:"skip_special_tokens"`
	ExtraArgs     forcing         `json:"extra_args"` // of generate
	Xargs         forcing         `json:"vllm_xargs"` // of the others
	StopTokenIDs  []int64         `json:"stop_token_ids"`
	Stop          stops           `json:"stop"`
	IncludeStop   bool            `json:"include_stop_str_in_output"`
	PromptLogprob json.RawMessage `json:"prompt_logprobs"`
	Logprobs      json.RawMessage `json:"logprobs"`
	TopLogprobs   json.RawMessage `json:"top_logprobs"`
}

// forcing are the arguments of the plug-in (spec/vllm-cpu-live.md 5).
type forcing struct {
	Tokens *[]int64 `json:"reprise_tokens"`
}

// envelope are the fields of a request that are not about its tokens.
type envelope struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Priority  int32  `json:"priority"`
	RequestID string `json:"request_id"`
	SessionID string `json:"session_id"`
	CacheSalt string `json:"cache_salt"`
}

// check refuses what no request may ask for.
func (q *sampling) check() *failure {
	switch {
	case q.N != nil && *q.N != 1:
		return refuse("n", "n: %d: this server gives one answer to a request", *q.N)
	case q.BestOf != nil && *q.BestOf != 1:
		return refuse("best_of", "best_of: %d: this server gives one answer to a request", *q.BestOf)
	case q.MaxTokens != nil && *q.MaxTokens < 1:
		return refuse("max_tokens", "max_tokens must be at least 1, got %d.", *q.MaxTokens)
	case q.MinTokens < 0:
		return refuse("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", q.MinTokens)
	case q.MaxTokens != nil && q.MinTokens > *q.MaxTokens:
		return refuse("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", *q.MaxTokens, q.MinTokens)
	}
	for _, l := range []struct {
		field string
		asked bool
	}{
		{"logprobs", given(q.Logprobs)}, {"top_logprobs", given(q.TopLogprobs) && string(q.TopLogprobs) != "0"},
		{"prompt_logprobs", given(q.PromptLogprob)},
	} {
		if l.asked {
			return refuse(l.field, "%s: no model runs here: there are no log probabilities", l.field)
		}
	}
	if slices.Contains(q.Stop, "") {
		return refuse("stop", "stop cannot contain an empty string.")
	}
	return nil
}

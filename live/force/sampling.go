package force

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// use is what a recorded parameter is for, and so who sends it.
type use uint8

const (
	shape   use = 1 << iota // the distribution that is sampled from: always sent, the work is the same
	seed                    // sent where something is left to chance
	end                     // when to stop: sent where no end is forced
	grammar                 // what outputs may look like: contradicts forced ones
	alone                   // alternatives and prompts in answers: refused unless they say "one" or "no"
	unused                  // of the API or of a server's state: the tokens say it all
)

// parameters are the parameters of the serving APIs (spec/live.md A.1 to A.3).
var parameters = map[string]use{
	"temperature": shape, "top_p": shape, "top_k": shape, "min_p": shape, "frequency_penalty": shape, "presence_penalty": shape,
	"repetition_penalty": shape, "logit_bias": shape, "allowed_token_ids": shape, "logprobs": shape,
	"seed": seed,
	"stop": end, "stop_token_ids": end, "min_tokens": end, "ignore_eos": end,
	"response_format": grammar, "structured_outputs": grammar, "guided_json": grammar, "guided_regex": grammar, "guided_choice": grammar,
	"guided_grammar": grammar, "text": grammar, "tool_choice": grammar, "bad_words": grammar, "repetition_detection": grammar,
	"thinking_token_budget": grammar,
	"n":                     alone, "best_of": alone, "use_beam_search": alone, "echo": alone, "suffix": alone, "prompt_logprobs": alone,
	"max_tokens": unused, "max_completion_tokens": unused, "max_output_tokens": unused, "stop_sequences": unused, "top_logprobs": unused,
	"length_penalty": unused, "parallel_tool_calls": unused, "reasoning_effort": unused, "reasoning": unused, "thinking": unused,
	"stream": unused, "stream_options": unused, "skip_special_tokens": unused, "spaces_between_special_tokens": unused,
	"truncate_prompt_tokens": unused, "truncation": unused, "cache_salt": unused, "priority": unused, "detokenize": unused,
	"return_token_ids": unused, "user": unused,
}

// Sampling is the sampling parameters of a call as they were recorded.
type Sampling struct {
	values map[string]json.RawMessage
	names  []string // in order
}

// ParseSampling reads recorded parameters; none are fine.
func ParseSampling(recorded json.RawMessage) (*Sampling, error) {
	s := &Sampling{}
	if len(recorded) > 0 {
		if err := json.Unmarshal(recorded, &s.values); err != nil {
			return nil, fmt.Errorf("sampling: %w", err)
		}
	}
	s.names = slices.Sorted(maps.Keys(s.values))
	return s, nil
}

// Unknown lists parameters that Reprise does not know and does not send.
func (s *Sampling) Unknown() (names []string) {
	for _, name := range s.names {
		if _, known := parameters[name]; !known {
			names = append(names, name)
		}
	}
	return names
}

// WithoutGrammar is s without what contradicts forced tokens.
func (s *Sampling) WithoutGrammar() *Sampling {
	free := &Sampling{values: s.values}
	for _, name := range s.names {
		if parameters[name] != grammar {
			free.names = append(free.names, name)
		}
	}
	return free
}

// append appends the parameters of some uses to an object, but for those that ask for
// nothing.
func (s *Sampling) append(o *object, uses use) {
	for _, name := range s.names {
		switch value := s.values[name]; {
		case parameters[name]&uses == 0, isPlain(name, value):
		case name == "logprobs" && string(value) == "true":
			o.int(name, s.topLogprobs())
		default:
			o.raw(name, value)
		}
	}
}

// topLogprobs is how many alternatives a chat wants for each token. A completion asks
// for them in the one parameter in which a chat says that it wants any.
func (s *Sampling) topLogprobs() (n int) {
	if json.Unmarshal(s.values["top_logprobs"], &n) != nil {
		return 0
	}
	return n
}

// maxTokens is the recorded limit of the output, n if there is none.
func (s *Sampling) maxTokens(n int) int {
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		var most int
		if json.Unmarshal(s.values[name], &most) == nil && most > 0 {
			return most
		}
	}
	return n
}

// refuseForced is what cannot hold together with a forced output.
func (s *Sampling) refuseForced() string {
	for _, name := range s.names {
		value := s.values[name]
		switch u := parameters[name]; {
		case u == alone && !isPlain(name, value):
			return fmt.Sprintf("sampling.%s: %s: want none", name, short(value))
		case u == grammar && !isPlain(name, value):
			return fmt.Sprintf("sampling.%s: %s: want none, or leave to ignore what outputs have to look like", name, short(value))
		case u == shape && !isNumeric(name, value):
			return fmt.Sprintf("sampling.%s: %s: want numbers", name, short(value))
		}
	}
	return ""
}

// refuseFree is what a completion cannot say.
func (s *Sampling) refuseFree() string {
	for _, name := range s.names {
		value := s.values[name]
		switch u := parameters[name]; {
		case u == alone && !isPlain(name, value), (name == "tool_choice" || name == "text") && !isPlain(name, value):
			return fmt.Sprintf("sampling.%s: %s: want none", name, short(value))
		case u&(shape|seed) != 0 && !isNumeric(name, value), u&(end|grammar) != 0 && isRedacted(value):
			return fmt.Sprintf("sampling.%s: %s: want what was recorded", name, short(value))
		}
	}
	return ""
}

// plain are the values with which a parameter asks for nothing.
var plain = map[string][]string{
	"n": {"1"}, "best_of": {"1"}, "use_beam_search": {"false"}, "echo": {"false"}, "suffix": {`""`},
	"response_format": {`{"type":"text"}`}, "text": {`{"format":{"type":"text"}}`, `{}`, `{"verbosity":"medium"}`},
	"tool_choice": {`"auto"`, `"none"`}, "bad_words": {"[]"}, "logprobs": {"false"},
}

// isPlain is whether a parameter asks for nothing.
func isPlain(name string, value json.RawMessage) bool {
	if isNull(value) {
		return true
	}
	compact := strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(string(value))
	return slices.Contains(plain[name], compact)
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// isRedacted is whether a value was taken out of the trace.
func isRedacted(value json.RawMessage) bool { return string(value) == `"redacted"` }

// isNumeric is whether a value has no text in it. Of logprobs a truth value is fine.
func isNumeric(name string, value json.RawMessage) bool {
	if name == "logit_bias" {
		return value[0] == '{' || isNull(value)
	}
	return !strings.ContainsRune(string(value), '"')
}

// short is a value, cut if it is long.
func short(value json.RawMessage) string {
	const most = 60
	if len(value) > most {
		return string(value[:most]) + "…"
	}
	return string(value)
}

package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// samplingFields are the members of requests that say how to sample and when to
// stop, of all APIs together.
var samplingFields = setOf(
	"temperature", "top_p", "top_k", "min_p", "n", "best_of", "seed", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "min_tokens", "ignore_eos", "stop", "stop_sequences", "stop_token_ids", "frequency_penalty",
	"presence_penalty", "repetition_penalty", "length_penalty", "logit_bias", "logprobs", "top_logprobs",
	"prompt_logprobs", "echo", "suffix", "allowed_token_ids", "bad_words", "response_format", "structured_outputs",
	"guided_json", "guided_regex", "guided_choice", "guided_grammar", "text", "tool_choice", "parallel_tool_calls",
	"reasoning_effort", "reasoning", "thinking", "stream", "skip_special_tokens", "truncate_prompt_tokens",
	"cache_salt", "priority", "truncation",
)

// setOf is a set of names.
func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// sampling is the members of a request that say how to sample.
func sampling(body gjson.Result) json.RawMessage {
	var b bytes.Buffer
	from := body
	if inner := body.Get("sampling_params"); inner.IsObject() { // of vLLM's generate
		from = inner
	}
	from.ForEach(func(key, v gjson.Result) bool {
		if v.Type != gjson.Null && samplingFields[key.Str] {
			b.WriteByte(separator(&b))
			b.WriteString(key.Raw + ":" + v.Raw)
		}
		return true
	})
	return closed(&b)
}

// separator is what stands before the next member.
func separator(b *bytes.Buffer) byte {
	if b.Len() == 0 {
		return '{'
	}
	return ','
}

// closed is the object in b, nil if it has no members.
func closed(b *bytes.Buffer) json.RawMessage {
	if b.Len() == 0 {
		return nil
	}
	b.WriteByte('}')
	return b.Bytes()
}

// RedactSampling keeps of sampling parameters what is no text: numbers and switches,
// and of all others no more than that they were there.
func RedactSampling(s json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	gjson.ParseBytes(s).ForEach(func(key, v gjson.Result) bool {
		b.WriteByte(separator(&b))
		b.WriteString(key.Raw + ":")
		switch v.Type {
		case gjson.Number, gjson.True, gjson.False:
			b.WriteString(v.Raw)
		default:
			b.WriteString(`"redacted"`)
		}
		return true
	})
	return closed(&b)
}

// secretFields are members of tool descriptions that give access to something
// (OpenAI's and Anthropic's MCP tools).
var secretFields = setOf("authorization", "authorization_token", "headers", "api_key", "token")

// withoutSecrets is v without members that give access to something.
func withoutSecrets(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	var b bytes.Buffer
	copyPublic(&b, v)
	return b.Bytes()
}

func copyPublic(b *bytes.Buffer, v gjson.Result) {
	first := true
	comma := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	switch {
	case v.IsObject():
		b.WriteByte('{')
		v.ForEach(func(key, e gjson.Result) bool {
			if !secretFields[strings.ToLower(key.Str)] || e.IsObject() && e.Get("type").Exists() { // a parameter of that name
				comma()
				b.WriteString(key.Raw + ":")
				copyPublic(b, e)
			}
			return true
		})
		b.WriteByte('}')
	case v.IsArray():
		b.WriteByte('[')
		v.ForEach(func(_, e gjson.Result) bool {
			comma()
			copyPublic(b, e)
			return true
		})
		b.WriteByte(']')
	default:
		b.WriteString(v.Raw)
	}
}

package serve

import "slices"

// forcedByPlugin is the output that the plug-in forces, nil if the request asks for
// none. What the plug-in refuses is refused, in its order (spec/vllm-cpu-live.md 5).
func (s *Server) forcedByPlugin(f *forcing, q *sampling, prompt int, maxTokens int) ([]uint32, *failure) {
	if f.Tokens == nil {
		return nil, nil
	}
	ids := *f.Tokens
	wrong := func(format string, args ...any) ([]uint32, *failure) {
		return nil, refuse("reprise_tokens", "reprise_tokens: "+format, args...).later()
	}
	switch bad := slices.IndexFunc(ids, s.unknown); {
	case len(ids) == 0:
		return wrong("want a list of token ids that is not empty")
	case bad >= 0:
		return wrong("id %d at position %d is outside the vocabulary of %d", ids[bad], bad, s.options.Vocabulary)
	case maxTokens != len(ids):
		return wrong("%d ids but max_tokens is %d: want as many", len(ids), maxTokens)
	case prompt+len(ids) > s.options.ContextTokens:
		return wrong("%d ids behind a prompt of %d exceed the model's %d tokens", len(ids), prompt, s.options.ContextTokens)
	case q.DecodeTokens != nil:
		return wrong("trace_decode_token_ids is set too")
	case given(q.Structured):
		return wrong("not together with structured_outputs")
	case len(q.BadWords) > 0:
		return wrong("not together with bad_words")
	}
	return narrow(ids), nil
}

// forcedNatively is the output of vLLM's own trace replay, nil if the request asks for
// none. It is cut to max_tokens and to the context without a word, as there
// (spec/vllm-cpu-live.md 4).
func (s *Server) forcedNatively(q *sampling, prompt int) ([]uint32, *failure) {
	if q.DecodeTokens == nil {
		return nil, nil
	}
	ids := *q.DecodeTokens
	switch bad := slices.IndexFunc(ids, s.unknown); {
	case len(ids) == 0:
		return nil, refuse("trace_decode_token_ids", "trace_decode_token_ids must not be empty")
	case bad >= 0:
		return nil, refuse("trace_decode_token_ids", "trace_decode_token_ids contains token id %d, which is out of vocabulary", ids[bad])
	case given(q.Structured) || len(q.BadWords) > 0:
		return nil, refuse("trace_decode_token_ids", "trace replay does not go together with structured_outputs or bad_words")
	}
	n := min(len(ids), s.options.ContextTokens-prompt)
	if q.MaxTokens != nil {
		n = min(n, *q.MaxTokens)
	}
	return narrow(ids[:n]), nil
}

// unknown is whether an id is outside the vocabulary.
func (s *Server) unknown(id int64) bool { return id < 0 || id >= int64(s.options.Vocabulary) }

// given is whether a field of JSON says something.
func given(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" && string(raw) != "false" }

// narrow is ids, which are legal, as those of the tokenizer.
func narrow(ids []int64) []uint32 {
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}

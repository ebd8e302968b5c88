//go:build e2e

package e2e

import (
	"maps"
	"strings"
	"testing"
)

// refusal is a call that must be refused, and a part of the reason.
type refusal struct {
	name   string
	path   string
	body   fields
	reason string
}

// forced is a completion of three ids with three of them forced, changed by `with`.
func forced(tokens any, with fields) fields {
	body := fields{"prompt": []int{5, 6, 7}, "max_tokens": 3, "vllm_xargs": fields{"reprise_tokens": tokens}}
	maps.Copy(body, with)
	return body
}

func pluginRefusals() []refusal {
	three := []int{8, 9, 10}
	routes := func(xargs fields) fields { return fields{"vllm_xargs": xargs} }
	return []refusal{
		{"id past the vocabulary", completions, forced([]int{8, 9, vocabulary}, nil), "outside the vocabulary of 1024"},
		{"negative id", completions, forced([]int{8, -1, 9}, nil), "outside the vocabulary"},
		{"fewer ids than max_tokens", completions, forced(three, fields{"max_tokens": 8}), "max_tokens is 8"},
		{"more ids than max_tokens", completions, forced(three, fields{"max_tokens": 2}), "max_tokens is 2"},
		{"past the context", completions, forced(seeded(1).ids(maxModelLen), fields{"max_tokens": maxModelLen}), "max_tokens"},
		{"several outputs", completions, forced(three, fields{"n": 2}), "n is 2"},
		{"grammar", completions, forced(three, fields{"structured_outputs": fields{"regex": "a+"}}), "structured_outputs"},
		{"bad words", completions, forced(three, fields{"bad_words": []string{"a"}}), "bad_words"},
		{"no ids", completions, forced([]int{}, fields{"max_tokens": 1}), "non-empty list of integers"},
		{"fractions", completions, forced([]float64{1.5, 2, 3}, nil), "non-empty list of integers"},
		{"words", completions, forced([]string{"a", "b", "c"}, nil), "non-empty list of integers"},
		{"misspelt key", completions, forced(three, routes(fields{"reprise_token": three})), "unknown key reprise_token"},
		{"seed", completions, forced(three, fields{"seed": 1}), "seed"},
		{"routes of a dense model", completions,
			forced(three, routes(fields{"reprise_tokens": three, "reprise_routes": "a"})), "no experts"},
	}
}

func TestRefusalsAreClean(t *testing.T) {
	s := start(t, DenseV1)
	cases := pluginRefusals()
	before := s.status(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkRefused(t, s, c) })
	}
	if n := s.status(t).Admission.Refused - before.Admission.Refused; n != 2*len(cases) {
		t.Errorf("the plug-in counted %d refusals, want %d", n, 2*len(cases))
	}
}

// checkRefused wants status 400 with the reason, and the same as an event of a stream.
func checkRefused(t *testing.T, s *Server, c refusal) {
	for _, stream := range []bool{false, true} {
		body := maps.Clone(c.body)
		body["stream"] = stream
		r, err := s.post(c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		// Inside a stream of completions the status line has already gone out as 200.
		if r.code != 400 || r.status != 400 && !stream || !strings.Contains(r.message, c.reason) || len(r.ids) > 0 {
			t.Errorf("stream %v: status %d, code %d, %d ids: %q; want 400 for %q",
				stream, r.status, r.code, len(r.ids), r.message, c.reason)
		}
	}
}

func TestRoutesThatDoNotFitAreRefused(t *testing.T) {
	s := start(t, MoEV2)
	c := routedCalls(1)[0]
	n := c.positions()
	for name, table := range map[string]*npy{
		"short":  seeded(1).routes(n-1, moeLayers, moeTopK, moeCount, 0),
		"layers": seeded(1).routes(n, moeLayers+1, moeTopK, moeCount, 0),
		"top-k":  seeded(1).routes(n, moeLayers, moeTopK-1, moeCount, 0),
		"past":   seeded(1).routes(n, moeLayers, moeTopK, moeCount+8, 0),
	} {
		if err := table.write(s, "unfit-"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []refusal{
		{"positions", generate, native(c, "unfit-short"), "this call computes"},
		{"layers", generate, native(c, "unfit-layers"), "5 layers of top 4, the model has 4 of top 4"},
		{"top-k", generate, native(c, "unfit-top-k"), "of top 3"},
		{"expert", generate, native(c, "unfit-past"), "outside -1..15"},
		{"no file", generate, native(c, "unfit-missing"), "no route table"},
		{"path", generate, native(c, "../log"), "not a name"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefused(t, s, c) })
	}
}

// native is a call of the token endpoint with vLLM's own trace and forced routes.
func native(c routedCall, routes string) fields {
	return fields{"token_ids": c.prompt, "sampling_params": fields{"max_tokens": len(c.output),
		"trace_decode_token_ids": c.output, "extra_args": fields{"reprise_routes": routes}}}
}

// vLLM cuts a trace to max_tokens and to the context without a word; with the plug-in
// it refuses.
func TestCutNativeTracesAreRefused(t *testing.T) {
	s := start(t, MoEV2)
	params := func(p fields) fields {
		return fields{"token_ids": seeded(4).ids(500), "sampling_params": p}
	}
	for _, c := range []refusal{
		{"max_tokens", generate, params(fields{"max_tokens": 3, "trace_decode_token_ids": seeded(5).ids(8)}), "leave room for 3"},
		{"context", generate, params(fields{"max_tokens": 40, "trace_decode_token_ids": seeded(5).ids(40)}), "leave room for 12"},
		{"plug-in tokens on V2", completions, forced([]int{8, 9, 10}, nil), "for the V1 runner"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefused(t, s, c) })
	}
}

func TestNativeTracesNeedTheFlag(t *testing.T) {
	s := start(t, DenseV1)
	checkRefused(t, s, refusal{"", generate, fields{"token_ids": []int{5}, "sampling_params": fields{"max_tokens": 1,
		"trace_decode_token_ids": []int{6}}}, "--enable-trace-replay"})
}

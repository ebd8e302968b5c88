package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Whatever a client sends, it is answered: with 200 and JSON, with events that are JSON,
// or with an error that says what was wrong. Nothing else stops.
func FuzzRequests(f *testing.F) {
	r := start(f, 0)
	f.Cleanup(func() { r.stop(f) })
	paths := []string{"/v1/completions", "/v1/chat/completions", "/inference/v1/generate", "/tokenize", "/detokenize"}
	for i, body := range []string{
		`{"prompt":[1,2],"max_tokens":3,"stream":true,"stop":["a"],"vllm_xargs":{"reprise_tokens":[1,2,3]}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"h"}],"tool_calls":[{"function":{"arguments":"{}"}}]}],"tools":[]}`,
		`{"token_ids":[1],"sampling_params":{"max_tokens":1,"trace_decode_token_ids":[3]},"cache_salt":"s"}`,
		`{"prompt":"text","messages":[],"return_token_strs":true}`,
		`{"tokens":[1,256,-1]}`,
		`{"prompt":[[1]],"n":1,"logprobs":0}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		w := r.ask(ctx, http.MethodPost, paths[int(path)%len(paths)], string(body), nil)
		text := w.Body.String()
		if ctx.Err() != nil {
			t.Fatalf("%q: no answer", body)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			for event := range strings.SplitSeq(strings.TrimSuffix(text, "data: [DONE]\n\n"), "\n\n") {
				if event != "" && !json.Valid([]byte(strings.TrimPrefix(event, "data: "))) {
					t.Fatalf("%q: an event %q", body, event)
				}
			}
			return
		}
		if !json.Valid([]byte(text)) || w.Code >= 500 || (w.Code == 200) == strings.HasPrefix(text, `{"error":`) {
			t.Fatalf("%q: %d %s", body, w.Code, text)
		}
	})
}

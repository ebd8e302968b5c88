package serve

import (
	"net/http"
)

// vllmVersion is the version of vLLM whose API this is (spec/vllm-cpu-live.md).
const vllmVersion = "0.32.0"

// model is an entry of /v1/models.
type model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Root        string `json:"root"`
	MaxModelLen int    `json:"max_model_len"`
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	o := &s.options
	send(w, map[string]any{"object": "list", "data": []model{{o.Model, "model", o.Now().Unix(), "reprise", o.Model, o.ContextTokens}}})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	send(w, map[string]string{"version": vllmVersion, "simulated_by": "reprise " + s.options.Version})
}

// health says whether the cluster runs.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if err := s.backend.do(func() error { return nil }); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// openAPI lists the paths, for clients that look there what a server can do.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	post, get := map[string]any{"post": struct{}{}}, map[string]any{"get": struct{}{}}
	send(w, map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]string{"title": "Reprise simulated server", "version": vllmVersion},
		"paths": map[string]any{
			"/v1/completions": post, "/v1/chat/completions": post, "/inference/v1/generate": post,
			"/tokenize": post, "/detokenize": post,
			"/v1/models": get, "/version": get, "/health": get, "/metrics": get,
		},
	})
}

// tokenizeRequest is the body of /tokenize.
type tokenizeRequest struct {
	Model    string    `json:"model"`
	Prompt   *string   `json:"prompt"`
	Messages []message `json:"messages"`
	Strings  bool      `json:"return_token_strs"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var q tokenizeRequest
	f := read(w, r, &q)
	switch {
	case f != nil:
	case q.Model != "" && q.Model != s.options.Model:
		f = unknownModel(q.Model)
	case q.Prompt == nil && q.Messages == nil:
		f = refuse("prompt", "prompt or messages is required")
	}
	if f != nil {
		f.answer(w)
		return
	}
	var ids []uint32
	if q.Prompt != nil {
		ids = s.options.Tokenizer.Encode(*q.Prompt)
	} else {
		ids = s.options.Tokenizer.Chat(plain(q.Messages, nil))
	}
	var pieces []string
	if q.Strings {
		for _, id := range ids {
			pieces = append(pieces, decode(s.options.Tokenizer, []uint32{id}))
		}
	}
	if ids == nil {
		ids = []uint32{} // not null
	}
	send(w, map[string]any{"count": len(ids), "max_model_len": s.options.ContextTokens, "tokens": ids, "token_strs": pieces})
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tokens []uint32 `json:"tokens"`
	}
	if f := read(w, r, &q); f != nil {
		f.answer(w)
		return
	}
	send(w, map[string]string{"prompt": decode(s.options.Tokenizer, q.Tokens)})
}

package serve

import (
	"net/http"
	"reflect"
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

// openAPI lists the paths and the fields of requests, for clients that look there what
// a server can do.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	get := map[string]any{"get": struct{}{}}
	send(w, map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]string{"title": "Reprise simulated server", "version": vllmVersion},
		"paths": map[string]any{
			"/v1/completions": post(completionRequest{}), "/v1/chat/completions": post(chatRequest{}),
			"/inference/v1/generate": post(generateRequest{}),
			"/tokenize":              post(tokenizeRequest{}), "/detokenize": post(detokenizeRequest{}),
			"/v1/models": get, "/version": get, "/health": get, "/metrics": get,
		},
	})
}

// post describes a path that takes requests like this one.
func post(request any) map[string]any {
	properties := map[string]any{}
	fields(reflect.TypeOf(request), properties)
	schema := map[string]any{"schema": map[string]any{"type": "object", "properties": properties}}
	return map[string]any{"post": map[string]any{
		"requestBody": map[string]any{"required": true, "content": map[string]any{"application/json": schema}},
	}}
}

// fields adds the fields of a request, those of its parts included.
func fields(request reflect.Type, properties map[string]any) {
	for i := range request.NumField() {
		switch f := request.Field(i); {
		case f.Anonymous:
			fields(f.Type, properties)
		default:
			properties[f.Tag.Get("json")] = struct{}{}
		}
	}
}

// tokenizeRequest is the body of /tokenize.
type tokenizeRequest struct {
	conversation
	Model   string  `json:"model"`
	Prompt  *string `json:"prompt"`
	Strings bool    `json:"return_token_strs"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var q tokenizeRequest
	f := read(w, r, &q)
	if f == nil && q.Model != "" && q.Model != s.options.Model {
		f = unknownModel(q.Model)
	}
	var ids []uint32
	switch {
	case f != nil:
	case q.Prompt != nil:
		ids, f = s.encode(&prompt{text: q.Prompt}, q.Special)
	case q.Messages != nil:
		ids, f = s.converse(&q.conversation)
	default:
		f = refuse("prompt", "prompt or messages is required")
	}
	if f != nil {
		f.answer(w)
		return
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

// detokenizeRequest is the body of /detokenize.
type detokenizeRequest struct {
	Tokens []int64 `json:"tokens"`
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var q detokenizeRequest
	f := read(w, r, &q)
	if f == nil {
		var ids []uint32
		if ids, f = s.legal(q.Tokens); f == nil {
			send(w, map[string]string{"prompt": decode(s.options.Tokenizer, ids)})
			return
		}
	}
	f.answer(w)
}

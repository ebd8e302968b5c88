package livetest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
)

// completionRequest is the body of /v1/completions, as far as it matters.
type completionRequest struct {
	Model          string         `json:"model"`
	Prompt         []int32        `json:"prompt"`
	MaxTokens      *int           `json:"max_tokens"`
	MinTokens      int            `json:"min_tokens"`
	IgnoreEOS      bool           `json:"ignore_eos"`
	N              *int           `json:"n"`
	Stream         bool           `json:"stream"`
	StreamOptions  streamOptions  `json:"stream_options"`
	ReturnTokenIDs bool           `json:"return_token_ids"`
	CacheSalt      string         `json:"cache_salt"`
	XArgs          map[string]any `json:"vllm_xargs"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// generateRequest is the body of /inference/v1/generate.
type generateRequest struct {
	Model         string         `json:"model"`
	TokenIDs      []int32        `json:"token_ids"`
	Sampling      samplingParams `json:"sampling_params"`
	Stream        bool           `json:"stream"`
	StreamOptions streamOptions  `json:"stream_options"`
	CacheSalt     string         `json:"cache_salt"`
}

type samplingParams struct {
	MaxTokens *int           `json:"max_tokens"`
	N         *int           `json:"n"`
	Trace     []int32        `json:"trace_decode_token_ids"`
	BadWords  []string       `json:"bad_words"`
	ExtraArgs map[string]any `json:"extra_args"`
}

// job is a call that has been understood.
type job struct {
	path     string
	prompt   []int32
	forced   []int32 // nil: the model decides
	most     int     // output tokens
	noEOS    bool
	stream   bool
	usage    bool
	ids      bool // the answer has token ids
	salt     string
	routes   *table // nil: native
	faults   Faults
	cached   int
	finished string
}

// refusal is a status and a text.
type refusal struct {
	status int
	text   string
}

func bad(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in := s.note(r, body)
	f := s.faults(in)
	if f.refuse(w, in) {
		return
	}
	q := &completionRequest{}
	if err := json.Unmarshal(body, q); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	j, no := s.completionJob(q)
	if no != nil {
		s.refuse(w, q.Stream, no)
		return
	}
	j.path, j.faults = in.Path, f
	s.run(w, r, j)
}

// completionJob understands a completion, or says why not.
func (s *Server) completionJob(q *completionRequest) (*job, *refusal) {
	j := &job{prompt: q.Prompt, most: 16, noEOS: q.IgnoreEOS, stream: q.Stream, usage: q.StreamOptions.IncludeUsage || !q.Stream,
		ids: q.ReturnTokenIDs && !s.options.NoTokenIDs, salt: q.CacheSalt}
	if q.MaxTokens != nil {
		j.most = *q.MaxTokens
	}
	if no := s.admit(j, q.Model, q.N); no != nil {
		return nil, no
	}
	j.most = min(j.most, s.options.MaxModelLen-len(j.prompt)) // the endpoint lowers it without a word
	if ids, forced := q.XArgs["reprise_tokens"]; forced && s.options.Plugin {
		if s.options.TraceReplay {
			return nil, bad("reprise: reprise_tokens is for the V1 runner; this server runs V2")
		}
		if j.forced = intsOf(ids); len(j.forced) == 0 {
			return nil, bad("reprise: reprise_tokens must be a non-empty list of integers")
		}
		if j.most != len(j.forced) {
			return nil, bad("reprise: max_tokens is %d, must equal the %d recorded tokens", j.most, len(j.forced))
		}
		if no := s.inVocabulary(j.forced); no != nil {
			return nil, no
		}
	}
	return j, s.route(j, q.XArgs)
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in := s.note(r, body)
	f := s.faults(in)
	if f.refuse(w, in) {
		return
	}
	q := &generateRequest{}
	if err := json.Unmarshal(body, q); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	j, no := s.generateJob(q, f)
	if no != nil {
		s.refuse(w, q.Stream, no)
		return
	}
	j.path, j.faults = in.Path, f
	s.run(w, r, j)
}

// generateJob understands a request for tokens, or says why not.
func (s *Server) generateJob(q *generateRequest, f Faults) (*job, *refusal) {
	if !s.options.ScaleOut {
		return nil, &refusal{http.StatusForbidden, "Scale-out endpoints are disabled. Start the server with --enable-scale-out."}
	}
	p := &q.Sampling
	if p.Trace != nil && !s.options.TraceReplay {
		return nil, bad("trace_decode_token_ids is set but trace replay is not enabled. Start the server with --enable-trace-replay.")
	}
	if p.Trace != nil && (len(p.Trace) == 0 || len(p.BadWords) > 0 || p.N != nil && *p.N != 1) {
		return nil, &refusal{http.StatusInternalServerError, ""}
	}
	j := &job{prompt: q.TokenIDs, most: s.options.MaxModelLen - len(q.TokenIDs), stream: q.Stream,
		usage: q.StreamOptions.IncludeUsage || !q.Stream, ids: true, salt: q.CacheSalt}
	if p.MaxTokens != nil {
		j.most = *p.MaxTokens
	}
	if no := s.admit(j, q.Model, p.N); no != nil {
		return nil, no
	}
	if p.Trace != nil {
		if no := s.inVocabulary(p.Trace); no != nil {
			return nil, no
		}
		j.forced = s.cut(p, j, f)
		j.most = len(j.forced)
	}
	return j, s.route(j, p.ExtraArgs)
}

// cut is a trace as the server understands it: what does not fit is left out without a
// word.
func (s *Server) cut(p *samplingParams, j *job, f Faults) []int32 {
	n := len(p.Trace)
	if p.MaxTokens != nil {
		n = min(n, *p.MaxTokens)
	} else if f.CutToDefault {
		n = min(n, 16)
	}
	return p.Trace[:min(n, max(s.options.MaxModelLen-len(j.prompt), 1))]
}

// admit checks what every call has to keep.
func (s *Server) admit(j *job, model string, n *int) *refusal {
	switch {
	case model != "" && model != s.options.Model:
		return &refusal{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", model)}
	case len(j.prompt) == 0:
		return bad("the prompt is empty")
	case len(j.prompt) >= s.options.MaxModelLen:
		return bad("This model's maximum context length is %d tokens. However, your prompt contains %d tokens.", s.options.MaxModelLen, len(j.prompt))
	case j.most < 1:
		return bad("max_tokens must be at least 1, got %d.", j.most)
	case n != nil && *n != 1:
		return bad("n must be 1")
	case len(j.salt) > 128 || strings.ContainsAny(j.salt, "@/\\\x00"):
		return bad("Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL.")
	}
	return s.inVocabulary(j.prompt)
}

// inVocabulary refuses an id that the model does not have.
func (s *Server) inVocabulary(ids []int32) *refusal {
	for _, id := range ids {
		if id < 0 || int(id) >= s.options.Vocabulary {
			return bad("Token id %d is out of vocabulary", id)
		}
	}
	return nil
}

// route opens the table of experts that a call names.
func (s *Server) route(j *job, arguments map[string]any) *refusal {
	name, named := arguments["reprise_routes"].(string)
	e := s.options.Experts
	switch {
	case !named || !s.options.Plugin:
		return nil
	case e == nil:
		return bad("reprise: this model has no experts")
	case e.RoutesDir == "":
		return bad("reprise: this server forces no experts: it was started without REPRISE_ROUTES_DIR")
	}
	t, err := readTable(e.RoutesDir, name)
	if err != nil {
		return bad("reprise: no route table %q can be read: %v", name, err)
	}
	if want := [3]int{len(j.prompt) + j.most - 1, e.Layers, e.TopK}; t.shape != want {
		return bad("reprise: route table %q has shape %v, this call needs %v", name, t.shape, want)
	}
	j.routes = t
	return nil
}

// refuse answers with a refusal: inside the stream if the answer is one
// (spec/vllm-cpu-live.md 5).
func (s *Server) refuse(w http.ResponseWriter, stream bool, no *refusal) {
	if !stream || no.status != http.StatusBadRequest {
		refuse(w, no.status, no.text)
		return
	}
	o := newOutput(w, Faults{})
	o.event(errorObject(no.status, no.text))
	o.done()
}

// intsOf is a list of JSON numbers as ids, nil if it is something else.
func intsOf(v any) (ids []int32) {
	list, _ := v.([]any)
	for _, x := range list {
		n, ok := x.(float64)
		if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return nil
		}
		ids = append(ids, int32(n))
	}
	return ids
}

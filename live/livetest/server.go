package livetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Options are what the server is like.
type Options struct {
	Model       string // served name; "": tiny
	MaxModelLen int    // 0: 4096
	Vocabulary  int    // 0: 1024
	BlockSize   int    // of the prefix cache; 0: 16

	// What it can do, by the flag or package that gives it.
	TraceReplay bool // --enable-trace-replay
	ScaleOut    bool // --enable-scale-out
	Plugin      bool // the package of integrations/vllm
	NoTokenIDs  bool // a server that does not know return_token_ids
	CachedCount bool // --enable-prompt-tokens-details
	Times       bool // --enable-per-request-metrics

	Experts *Experts // nil: a dense model

	// What it takes: for each token of the prompt that is not cached, and for each
	// token that it writes.
	PerInput, PerOutput time.Duration

	// Faults are what goes wrong with a call; nil: nothing.
	Faults func(r *Received) Faults
}

// Experts make the model one with experts.
type Experts struct {
	Layers, TopK, Count int
	Return              bool   // --enable-return-routed-experts
	RoutesDir           string // where route tables are read, "": experts are not forced
}

// Received is a request for tokens that came in.
type Received struct {
	Path   string
	ID     string // X-Request-Id
	Header http.Header
	Body   json.RawMessage
	// Attempt counts the requests with the same body but for its request_id, from 1.
	Attempt int
}

// Server is the server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu       sync.Mutex
	received []*Received
	attempts map[string]int
	cached   map[uint64]bool // keys of blocks
	counters counters
	running  int
}

// counters are what the package counts.
type counters struct {
	CallsForced    int `json:"calls_forced"`
	TokensForced   int `json:"tokens_forced"`
	TokensVerified int `json:"tokens_verified"`
	TokensWrong    int `json:"tokens_wrong"`
	CallsRouted    int `json:"calls_routed"`
	ExpertsForced  int `json:"experts_forced"`
	CallsLost      int `json:"calls_lost"`
	Passes         int `json:"passes"`
}

// New makes a server.
func New(o Options) *Server {
	if o.Model == "" {
		o.Model = "tiny"
	}
	if o.MaxModelLen == 0 {
		o.MaxModelLen = 4096
	}
	if o.Vocabulary == 0 {
		o.Vocabulary = 1024
	}
	if o.BlockSize == 0 {
		o.BlockSize = 16
	}
	s := &Server{options: o, mux: http.NewServeMux(), attempts: map[string]int{}, cached: map[uint64]bool{}}
	s.mux.HandleFunc("POST /v1/completions", s.completions)
	s.mux.HandleFunc("POST /inference/v1/generate", s.generate)
	s.mux.HandleFunc("GET /version", s.say(map[string]any{"version": "0.32.0+livetest"}))
	s.mux.HandleFunc("GET /health", s.say(map[string]any{}))
	s.mux.HandleFunc("GET /v1/models", s.say(map[string]any{"object": "list", "data": []any{
		map[string]any{"id": o.Model, "object": "model", "max_model_len": o.MaxModelLen},
	}}))
	s.mux.HandleFunc("GET /openapi.json", s.openapi)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	if o.Plugin {
		s.mux.HandleFunc("GET /reprise/v1/capabilities", s.capabilities)
		s.mux.HandleFunc("GET /reprise/v1/counters", func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			writeJSON(w, http.StatusOK, s.counters)
		})
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Received lists the requests for tokens so far, in order of arrival.
func (s *Server) Received() []*Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Received(nil), s.received...)
}

// Forget empties the prefix cache and the list of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = nil
	clear(s.attempts)
	clear(s.cached)
}

// note keeps a request. What makes attempts differ stands in the header only, or in
// request_id.
func (s *Server) note(r *http.Request, body []byte) *Received {
	in := &Received{Path: r.URL.Path, ID: r.Header.Get("X-Request-Id"), Header: r.Header.Clone(), Body: body}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		delete(fields, "request_id")
	}
	same, err := json.Marshal(fields)
	if err != nil {
		panic(err) // it was parsed a line ago
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[string(same)]++
	in.Attempt = s.attempts[string(same)]
	s.received = append(s.received, in)
	return in
}

// faults are what is to go wrong with a request.
func (s *Server) faults(in *Received) Faults {
	if s.options.Faults == nil {
		return Faults{}
	}
	return s.options.Faults(in)
}

func (s *Server) say(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, v) }
}

func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]any{"/v1/completions": struct{}{}}
	if s.options.ScaleOut {
		paths["/inference/v1/generate"] = struct{}{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"openapi": "3.1.0", "paths": paths})
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprintf(w, `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name=%q} %d
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name=%q} %d
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{le="+Inf",model_name=%q} %d
vllm:e2e_request_latency_seconds_sum{model_name=%q} 1.5
vllm:e2e_request_latency_seconds_count{model_name=%q} %d
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 4811
`, s.options.Model, s.running, s.options.Model, s.counters.Passes, s.options.Model, len(s.received), s.options.Model, s.options.Model, len(s.received))
}

func (s *Server) capabilities(w http.ResponseWriter, _ *http.Request) {
	runner := "v1"
	if s.options.TraceReplay {
		runner = "v2"
	}
	about := map[string]any{
		"package": "reprise-vllm", "version": "0.1.0", "vllm": "0.32.0", "runner": runner,
		"armed": map[string]any{
			"tokens":  runner == "v1",
			"experts": s.options.Experts != nil && s.options.Experts.RoutesDir != "",
		},
		"async_scheduling": false, "native_token_replay": s.options.TraceReplay, "speculative": false,
		"returns_routes": s.options.Experts != nil && s.options.Experts.Return,
		"max_model_len":  s.options.MaxModelLen, "vocabulary": s.options.Vocabulary,
	}
	if e := s.options.Experts; e != nil {
		about["moe"] = map[string]any{"layers": e.Layers, "hidden_layers": e.Layers, "top_k": e.TopK, "experts": e.Count, "modular": true}
	}
	writeJSON(w, http.StatusOK, about)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // the client may be gone
}

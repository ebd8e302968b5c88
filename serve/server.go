package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options say what is served.
type Options struct {
	Model     string    // served name
	Tokenizer Tokenizer // nil: [Bytes]
	// Vocabulary is the number of token ids; 0: that of the tokenizer.
	Vocabulary int
	// ContextTokens is the most that prompt and output may have together.
	ContextTokens int
	// OutputTokens is the length of an answer that may go on until the model stops.
	OutputTokens int
	Priorities   bool   // requests may have one
	Seed         uint64 // of made-up answers
	Version      string // of this program
	BlockSize    int    // tokens of a KV block
	Blocks       int    // KV blocks of an instance
	// Events is told the content of calls; nil: nobody publishes it.
	Events *KVEvents
	// Now is the date that answers bear; nil: that of the wall clock.
	Now func() time.Time
}

// Server answers HTTP requests as vLLM does, from a [Backend]. It implements
// [http.Handler].
type Server struct {
	backend *Backend
	options Options
	words   []uint32 // of made-up answers
	mux     *http.ServeMux
	calls   atomic.Int64
}

// NewServer is a server in front of a backend, which it listens to: it has to be made
// before the backend runs, and there is one.
func NewServer(b *Backend, o Options) *Server {
	if o.Tokenizer == nil {
		o.Tokenizer = Bytes{}
	}
	if o.Vocabulary == 0 {
		o.Vocabulary = o.Tokenizer.Vocabulary()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{backend: b, options: o, words: o.Tokenizer.Words(), mux: http.NewServeMux()}
	m := newMeters(b, &o)
	b.listener = m
	s.mux.HandleFunc("POST /v1/completions", s.completions)
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("POST /inference/v1/generate", s.generate)
	s.mux.HandleFunc("POST /tokenize", s.tokenize)
	s.mux.HandleFunc("POST /detokenize", s.detokenize)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /version", s.version)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /openapi.json", s.openAPI)
	s.mux.Handle("GET /metrics", m.handler())
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// nextID numbers requests that have no name.
func (s *Server) nextID() string { return strconv.FormatInt(s.calls.Add(1), 10) }

// maxBody is the largest request, in bytes: a million ids take about 7 MB.
const maxBody = 64 << 20

// read reads a request.
func read(w http.ResponseWriter, r *http.Request, into any) *failure {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		f := refuse("", "The request is larger than %d bytes", large.Limit)
		f.Code = http.StatusRequestEntityTooLarge
		return f
	case err != nil:
		return refuse("", "The request cannot be read: %v", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return unreadable(err)
	}
	return nil
}

// unreadable is the answer to a request that cannot be read.
func unreadable(err error) *failure {
	var known *failure
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		field := wrong.Field
		for _, part := range []string{"sampling.", "envelope.", "conversation."} { // of ours
			field = strings.TrimPrefix(field, part)
		}
		return refuse(field, "%s: %s at byte %d: want %v", field, wrong.Value, wrong.Offset, wrong.Type)
	}
	return refuse("", "The request is not JSON: %v", err)
}

// send sends a value as JSON.
func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v) // an error here is a client that went away
}

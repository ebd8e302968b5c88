//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Endpoints that a call goes to.
const (
	completions = "/v1/completions"
	chat        = "/v1/chat/completions"
	messages    = "/v1/messages"
	responses   = "/v1/responses"
	generate    = "/inference/v1/generate"
)

// fields are members of a JSON object.
type fields map[string]any

// result is what came of one call.
type result struct {
	status  int    // HTTP status
	code    int    // code of the error, also of one inside a stream; 0: none
	message string // of the error
	prompt  []int  // prompt ids as the server saw them
	ids     []int  // output ids
	finish  string
	usage   struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	logprobs []float64
	routes   *npy // returned by the server
}

// answer is a response body, or one chunk of a stream.
type answer struct {
	PromptIDs []int `json:"prompt_token_ids"`
	Choices   []struct {
		PromptIDs []int   `json:"prompt_token_ids"`
		IDs       []int   `json:"token_ids"`
		Finish    *string `json:"finish_reason"`
		Routes    *string `json:"routed_experts"`
		Logprobs  *struct {
			Token   []float64 `json:"token_logprobs"` // completions
			Content []struct {
				Logprob float64 `json:"logprob"`
			} `json:"content"` // generate
		} `json:"logprobs"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error *struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"error"`
}

// post sends a body with the model's name and reads the answer, streamed if the body says so.
func (s *Server) post(path string, body fields) (*result, error) {
	body["model"] = modelName
	if path == completions || path == chat {
		body["return_token_ids"] = true
	}
	if body["stream"] == true {
		body["stream_options"] = fields{"include_usage": true}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	resp, err := http.Post(s.URL+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := &result{status: resp.StatusCode}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return r, r.readStream(resp.Body)
	}
	raw, err = io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return r, r.add(raw)
}

func (r *result) readStream(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		if err := r.add([]byte(data)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// add takes one body or chunk into the result; a chunk may hold any number of ids.
func (r *result) add(raw []byte) error {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("answer %.200q: %w", raw, err)
	}
	if a.Error != nil {
		r.code, r.message = a.Error.Code, a.Error.Message
		return nil
	}
	r.prompt = append(r.prompt, a.PromptIDs...)
	if len(a.Usage) > 0 && string(a.Usage) != "null" {
		if err := json.Unmarshal(a.Usage, &r.usage); err != nil {
			return err
		}
	}
	for _, c := range a.Choices {
		r.prompt = append(r.prompt, c.PromptIDs...)
		r.ids = append(r.ids, c.IDs...)
		if c.Finish != nil {
			r.finish = *c.Finish
		}
		if c.Logprobs != nil {
			r.logprobs = append(r.logprobs, c.Logprobs.Token...)
			for _, l := range c.Logprobs.Content {
				r.logprobs = append(r.logprobs, l.Logprob)
			}
		}
		if c.Routes != nil {
			raw, err := base64.StdEncoding.DecodeString(*c.Routes)
			if err != nil {
				return err
			}
			if r.routes, err = parseNPY(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// must posts and wants an answer without error.
func (s *Server) must(path string, body fields) (*result, error) {
	r, err := s.post(path, body)
	if err == nil && (r.status != http.StatusOK || r.code != 0) {
		err = fmt.Errorf("%s: status %d, code %d: %s", path, r.status, r.code, r.message)
	}
	return r, err
}

// call is must for the test's own goroutine.
func (s *Server) call(t *testing.T, path string, body fields) *result {
	t.Helper()
	r, err := s.must(path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// status is the plug-in's own account.
type status struct {
	Package, Runner string
	Armed           struct{ Tokens, Experts bool }
	MoE             *struct {
		Layers, Experts int
		TopK            int `json:"top_k"`
		Modular         bool
	}
	Counters  map[string]int
	Admission struct{ Admitted, Refused int }
}

// status asks the endpoint plug-in.
func (s *Server) status(t *testing.T) status {
	t.Helper()
	resp, err := http.Get(s.URL + "/reprise/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var st status
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	return st
}

// metric sums the samples of one Prometheus metric.
func (s *Server) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var sum float64
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), name+"{") {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], &v); err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

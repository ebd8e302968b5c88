package record_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-sim/reprise/record"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
)

// upstream is a server that answers as vLLM does, in tokens that are bytes, with a
// switch for every way in which one may fail.
type upstream struct {
	answer     string // what it says to everything
	tools      string // JSON of tool calls that it adds to a chat answer
	describes  bool   // it has /openapi.json with return_token_ids
	tokenizes  bool   // it has /tokenize
	usage      bool   // it counts tokens in streams, too
	breakAfter int    // events after which a stream breaks off, 0: never
	errorAfter int    // events after which an error comes, 0: never
	status     int    // of an error at once
	routes     func(rows int) string
	coding     string        // Content-Encoding of its answers
	stall      chan struct{} // a stream waits for it after its first tokens

	mu   sync.Mutex
	seen []string // bodies of requests
}

const eos = 256 // the token that ends an answer

func bytesOf(text string) []int {
	ids := []int{}
	for _, b := range []byte(text) {
		ids = append(ids, int(b))
	}
	return ids
}

// prompt is how the server writes a conversation: each message in a line with its role.
func prompt(messages []map[string]any, generate bool) string {
	var s strings.Builder
	for _, m := range messages {
		content, _ := m["content"].(string)
		fmt.Fprintf(&s, "<%v>%s", m["role"], content)
		if calls := m["tool_calls"]; calls != nil {
			text, _ := json.Marshal(calls)
			s.Write(text)
		}
		if m["role"] == "assistant" {
			s.WriteString("\x00")
		}
	}
	if generate {
		s.WriteString("<assistant>")
	}
	return s.String()
}

// ids are the tokens of a written conversation: a zero stands for the end of an answer.
func ids(text string) []int {
	all := bytesOf(text)
	for i, id := range all {
		if id == 0 {
			all[i] = eos
		}
	}
	return all
}

type request struct {
	Prompt   any              `json:"prompt"`
	Messages []map[string]any `json:"messages"`
	Stream   bool             `json:"stream"`
	Return   bool             `json:"return_token_ids"`
	Generate *bool            `json:"add_generation_prompt"`
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	u.mu.Lock()
	u.seen = append(u.seen, string(body))
	u.mu.Unlock()
	var q request
	_ = json.Unmarshal(body, &q)
	switch path := req.URL.Path; {
	case path == "/openapi.json" && u.describes:
		fmt.Fprint(w, `{"paths":{"/v1/completions":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/C"}}}}}},
			"/v1/chat/completions":{"post":{"requestBody":{"content":{"application/json":{"schema":{"anyOf":[{"$ref":"#/components/schemas/C"}]}}}}}}},
			"components":{"schemas":{"C":{"properties":{"return_token_ids":{"type":"boolean"}}}}}}`)
	case path == "/tokenize" && u.tokenizes:
		text, ok := q.Prompt.(string)
		if !ok {
			text = prompt(q.Messages, q.Generate == nil || *q.Generate)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids(text)})
	case u.status != 0:
		w.WriteHeader(u.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "bad key " + req.Header.Get("Authorization")}})
	case path == "/v1/chat/completions" || path == "/v1/completions":
		out, end := encoded(w, u.coding)
		u.complete(out, &q, strings.Contains(path, "chat"))
		end()
	case path == "/v1/messages":
		u.message(w, &q)
	default:
		http.NotFound(w, req)
	}
}

// complete answers a completion.
func (u *upstream) complete(w http.ResponseWriter, q *request, chat bool) {
	var in []int
	switch p := q.Prompt.(type) {
	case string:
		in = bytesOf(p)
	case []any:
		for _, id := range p {
			in = append(in, int(id.(float64)))
		}
	}
	if chat {
		in = ids(prompt(q.Messages, true))
	}
	out := append(ids(u.answer), eos)
	usage := map[string]any{"prompt_tokens": len(in), "completion_tokens": len(out), "prompt_tokens_details": map[string]int{"cached_tokens": len(in) / 16 * 16}}
	if q.Stream {
		u.stream(w, q, chat, in, out, usage)
		return
	}
	choice := map[string]any{"index": 0, "finish_reason": "stop"}
	body := map[string]any{"id": "cmpl-1", "model": "m", "choices": []any{choice}, "usage": usage}
	if chat {
		message := map[string]any{"role": "assistant", "content": u.answer}
		if u.tools != "" {
			message["tool_calls"] = json.RawMessage(u.tools)
		}
		choice["message"] = message
	} else {
		choice["text"] = u.answer
	}
	if q.Return {
		choice["token_ids"] = out
		if chat {
			body["prompt_token_ids"] = in
		} else {
			choice["prompt_token_ids"] = in
		}
	}
	if u.routes != nil {
		choice["routed_experts"] = u.routes(len(in) + len(out) - 1)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// stream answers event by event.
func (u *upstream) stream(w http.ResponseWriter, q *request, chat bool, in, out []int, usage any) {
	w.Header().Set("Content-Type", "text/event-stream")
	events := 0
	send := func(v any) {
		events++
		if u.breakAfter > 0 && events > u.breakAfter {
			panic(http.ErrAbortHandler)
		}
		if u.errorAfter > 0 && events > u.errorAfter {
			v = map[string]any{"error": map[string]any{"message": "out of memory", "code": 500}}
		}
		text, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
		if u.stall != nil && events == 3 {
			<-u.stall
		}
	}
	member := map[bool]string{true: "delta", false: "text"}[chat]
	first := map[string]any{"id": "cmpl-1", "choices": []any{map[string]any{"index": 0, member: map[string]any{"role": "assistant"}}}}
	if q.Return {
		first["prompt_token_ids"] = in
		if !chat {
			first["choices"].([]any)[0].(map[string]any)["prompt_token_ids"] = in
		}
	}
	send(first)
	for i, id := range out {
		choice := map[string]any{"index": 0}
		text := ""
		if id != eos {
			text = string(rune(id))
		}
		choice[member] = any(text)
		if chat {
			choice[member] = map[string]any{"content": text}
		}
		if q.Return {
			choice["token_ids"] = []int{id}
		}
		if i == len(out)-1 {
			choice["finish_reason"] = "stop"
		}
		send(map[string]any{"choices": []any{choice}})
	}
	if u.usage {
		send(map[string]any{"choices": []any{}, "usage": usage})
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// message answers in Anthropic's words.
func (u *upstream) message(w http.ResponseWriter, q *request) {
	in := ids(prompt(q.Messages, true))
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "msg-1", "type": "message", "role": "assistant", "content": []any{map[string]any{"type": "text", "text": u.answer}}, "stop_reason": "end_turn",
		"usage": map[string]any{"input_tokens": len(in), "output_tokens": len(u.answer) + 1},
	})
}

// session is a recording in progress.
type session struct {
	t        *testing.T
	upstream *upstream
	recorder *record.Recorder
	journal  string
	url      string
	stop     func()
}

// start puts a recorder in front of a server.
func start(t *testing.T, u *upstream, change ...func(o *record.Options)) *session {
	t.Helper()
	server := httptest.NewServer(u)
	server.Config.ErrorLog = nil
	root, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, upstream: u, journal: filepath.Join(t.TempDir(), "t.journal")}
	o := record.Options{Upstream: root, Journal: s.journal}
	for _, c := range change {
		c(&o)
	}
	if s.recorder, err = record.New(o); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(s.recorder)
	s.url = proxy.URL
	s.stop = sync.OnceFunc(func() {
		proxy.Close()
		if err := s.recorder.Close(t.Context()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		server.CloseClientConnections()
		server.Close()
		proxy.Close()
	})
	return s
}

// post sends a body and returns the answer.
func (s *session) post(path, body string, headers ...string) string {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // a stream may break off
	return string(text)
}

// finish ends the recording and returns its tasks and what is said of it.
func (s *session) finish() (tasks []*trace.Task, result *record.Result, path string) {
	s.t.Helper()
	s.stop()
	path = filepath.Join(filepath.Dir(s.journal), "t.jsonl")
	result, err := record.Finish(s.journal, path)
	if err != nil {
		s.t.Fatal(err)
	}
	if result.Calls > 0 {
		tasks = tasksOf(s.t, path)
	}
	return tasks, result, path
}

func tasksOf(t *testing.T, path string) (tasks []*trace.Task) {
	t.Helper()
	tr, err := formats.Open([]string{path}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for {
		task, err := src.Next()
		if err == io.EOF {
			return tasks
		}
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
}

// one is the only node of a trace.
func one(t *testing.T, tasks []*trace.Task) *trace.Node {
	t.Helper()
	if len(tasks) != 1 || len(tasks[0].Nodes) != 1 {
		t.Fatalf("%d tasks, want one of one node", len(tasks))
	}
	return &tasks[0].Nodes[0]
}

// bodies are the requests that the server has seen and that hold a text.
func (u *upstream) bodies(with string) (found []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, b := range u.seen {
		if strings.Contains(b, with) {
			found = append(found, b)
		}
	}
	return slices.Clone(found)
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

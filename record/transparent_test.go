package record_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/record"
)

// exchange is what a server got and what it says to it.
type exchange struct {
	got    []byte
	header http.Header
	uri    string
	status int
	typ    string
	pieces [][]byte
}

func (e *exchange) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	e.got, _ = io.ReadAll(req.Body)
	e.header, e.uri = req.Header.Clone(), req.RequestURI
	w.Header().Set("Content-Type", e.typ)
	w.Header().Set("X-Odd", "a;b, c")
	w.WriteHeader(e.status)
	for _, p := range e.pieces {
		_, _ = w.Write(p)
		_ = http.NewResponseController(w).Flush()
	}
}

// Whatever passes, and however it is cut into pieces, arrives as it was sent, in both
// directions: bodies, addresses, headers, status.
func TestNoByteIsChanged(t *testing.T) {
	e := &exchange{}
	server := httptest.NewServer(e)
	defer server.Close()
	root, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.New(record.Options{Upstream: root, Journal: filepath.Join(dir, "j"), Ask: record.AskNever, IDs: record.IDsAnswer, Log: func(line string) { t.Error(line) }})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(r)
	defer proxy.Close()
	paths := rapid.SampledFrom([]string{"/v1/chat/completions", "/v1/completions?x=%zz&a=1;b", "/v1/messages?beta=true", "/v1/responses", "/a%2Fb", "/inference/v1/generate"})
	json := rapid.SampledFrom([][]byte{
		[]byte(`{"messages":[{"role":"user","content":[{"type":"text"}]}],"stream":true}`), []byte(`{"input":[{"type":"reasoning"}]}`), []byte(`{"prompt":[[1],[2]]}`), []byte("{"),
		[]byte(`{"messages":7,"tools":[[{}]],"system":{}}`),
	})
	events := rapid.SampledFrom([][]byte{
		[]byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\",\"tool_calls\":[{}]}}]}\n\n"), []byte("data: [DO"), []byte("NE]\n\n"), []byte("event: error\r\n"), []byte("data: {\"type\":\"message_start\"}\n\n"),
		[]byte(`{"choices":[{"index":"0","token_ids":[1,-2,"x"]}],"usage":{"prompt_tokens":1e99}}`), []byte("data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\"}}\n\n"),
	})
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(json, rapid.SliceOf(rapid.Byte())).Draw(t, "request")
		e.status = rapid.SampledFrom([]int{200, 200, 200, 404, 500}).Draw(t, "status")
		e.typ = rapid.SampledFrom([]string{"application/json", "text/event-stream", "text/event-stream; charset=utf-8", "x/y"}).Draw(t, "type")
		e.pieces = rapid.SliceOfN(rapid.OneOf(events, rapid.SliceOfN(rapid.Byte(), 1, 20)), 0, 6).Draw(t, "answer")
		path := paths.Draw(t, "path")
		req, err := http.NewRequest(http.MethodPost, proxy.URL+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "br")
		req.Header.Set("X-Forwarded-For", "10.0.0.1")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if !bytes.Equal(e.got, body) || e.uri != path {
			t.Fatalf("the server got %q at %s, sent were %q at %s", e.got, e.uri, body, path)
		}
		if want := slices.Concat(e.pieces...); !bytes.Equal(got, want) || resp.StatusCode != e.status || resp.Header.Get("Content-Type") != e.typ || resp.Header.Get("X-Odd") != "a;b, c" {
			t.Fatalf("the client got %q, sent were %q; %d %v", got, want, resp.StatusCode, resp.Header)
		}
		if h := e.header; h.Get("Accept-Encoding") != "br" || h.Get("X-Forwarded-For") != "10.0.0.1" || h.Get("User-Agent") != "Go-http-client/1.1" {
			t.Fatalf("headers: %v", h)
		}
	})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Finish(filepath.Join(dir, "j"), filepath.Join(dir, "t.jsonl")); err != nil {
		t.Fatal(err)
	}
}

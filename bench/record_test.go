package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/record"
)

const (
	recordStreams = 100 // at a time
	recordChunks  = 200 // of a stream, each with one token id
	recordPrompt  = 4000
)

// BenchmarkRecorder times calls to a server that streams as fast as it can, with and
// without a recorder (or a bare proxy's hop) in between, 100 at a time. The recorder may
// cost 0.3 ms a call and 20 µs a chunk.
//
//	go test -run - -bench Recorder -benchtime 2000x ./bench
func BenchmarkRecorder(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(streamTokens))
	defer server.Close()
	b.Run("direct", func(b *testing.B) { streamCalls(b, server.URL) })
	b.Run("recorded", func(b *testing.B) {
		root, err := url.Parse(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		r, err := record.New(record.Options{Upstream: root, Journal: filepath.Join(b.TempDir(), "j"), Ask: record.AskNever, IDs: record.IDsAnswer})
		if err != nil {
			b.Fatal(err)
		}
		proxy := httptest.NewServer(r)
		defer proxy.Close()
		streamCalls(b, proxy.URL)
		b.StopTimer()
		if err := r.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		if c := r.Counts(); c.WithIDs != c.Calls || c.Calls < b.N {
			b.Fatalf("%+v", c)
		}
	})
}

// streamTokens answers a chat call with one token id a chunk.
func streamTokens(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	ids := strings.Trim(strings.Repeat("1234,", recordPrompt), ",")
	fmt.Fprintf(w, `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant"}}],"prompt_token_ids":[%s]}`+"\n\n", ids)
	flush := w.(http.Flusher)
	for i := range recordChunks {
		fmt.Fprintf(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"token_ids":[%d]}]}`+"\n\n", i)
		flush.Flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// streamCalls makes b.N calls, 100 at a time.
func streamCalls(b *testing.B, address string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: recordStreams}}
	body := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", recordPrompt) + `"}]}`)
	slots := make(chan struct{}, recordStreams)
	b.ResetTimer()
	for range b.N {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			resp, err := client.Post(address+"/v1/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Error(err)
			}
		}()
	}
	for range recordStreams {
		slots <- struct{}{}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*recordChunks), "µs/chunk")
}

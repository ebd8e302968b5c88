package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/record"
)

const (
	recordStreams = 100 // at a time
	recordPrompt  = 4000
)

// BenchmarkRecorder times calls to a server that streams as fast as it can, 100 at a
// time: directly, through a proxy that does nothing else, and through the recorder. Short
// streams show what a call costs, long ones what a chunk costs. The recorder may cost
// 0.3 ms a call and 20 µs a chunk (docs/record.md).
//
//	go test -run - -bench Recorder -benchtime 2000x ./bench
func BenchmarkRecorder(b *testing.B) {
	for _, chunks := range []int{1, 201} {
		server := httptest.NewServer(streamTokens(chunks))
		defer server.Close()
		root, err := url.Parse(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("chunks=%d/direct", chunks), func(b *testing.B) { streamCalls(b, server.URL) })
		b.Run(fmt.Sprintf("chunks=%d/passed", chunks), func(b *testing.B) {
			bare := httputil.NewSingleHostReverseProxy(root)
			bare.Transport = &http.Transport{MaxIdleConnsPerHost: recordStreams}
			proxy := httptest.NewServer(bare)
			defer proxy.Close()
			streamCalls(b, proxy.URL)
		})
		b.Run(fmt.Sprintf("chunks=%d/recorded", chunks), func(b *testing.B) { recordCalls(b, root) })
	}
}

// recordCalls makes b.N calls through a recorder.
func recordCalls(b *testing.B, root *url.URL) {
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
}

// streamTokens answers chat calls with so many chunks of one token id each.
func streamTokens(chunks int) http.HandlerFunc {
	ids := strings.Trim(strings.Repeat("1234,", recordPrompt), ",")
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant"}}],"prompt_token_ids":[%s]}`+"\n\n", ids)
		flush := w.(http.Flusher)
		for i := range chunks {
			fmt.Fprintf(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"token_ids":[%d]}]}`+"\n\n", i)
			flush.Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
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
}

package record_test

import (
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coder writes an answer in an encoding, piece by piece.
type coder struct {
	http.ResponseWriter
	into interface {
		io.WriteCloser
		Flush() error
	}
}

func (c *coder) Write(p []byte) (int, error) { return c.into.Write(p) }

func (c *coder) Flush() {
	_ = c.into.Flush()
	c.ResponseWriter.(http.Flusher).Flush()
}

// encoded is w in an encoding; end completes the answer.
func encoded(w http.ResponseWriter, coding string) (out http.ResponseWriter, end func()) {
	c := &coder{ResponseWriter: w}
	switch coding {
	case "":
		return w, func() {}
	case "gzip":
		c.into = gzip.NewWriter(w)
	case "deflate":
		c.into = zlib.NewWriter(w)
	case "br":
		c.into = brotli.NewWriter(w)
	case "zstd":
		z, err := zstd.NewWriter(w)
		if err != nil {
			panic(err) // it has no options
		}
		c.into = z
	}
	w.Header().Set("Content-Encoding", coding)
	return c, func() { _ = c.into.Close() }
}

// The client gets what the server has encoded; the recorder reads it all the same.
func TestEncodedAnswersAreRecorded(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		for _, stream := range []string{"", `,"stream":true`} {
			s := start(t, &upstream{answer: "hi", describes: true, coding: coding})
			if got := s.post(chatPath, fmt.Sprintf(hello, stream), "Accept-Encoding", coding); got == "" || strings.Contains(got, "choices") {
				t.Errorf("%s: the client got %q, want it encoded", coding, got)
			}
			tasks, result, _ := s.finish()
			if result.WithIDs != 1 {
				t.Errorf("%s, %q: %+v", coding, stream, result)
				continue
			}
			wantIDs(t, one(t, tasks), ids("<user>hello<assistant>"), withEnd("hi"), "server")
		}
	}
}

// Sessions are named by the clearest of what the request has.
func TestSessionsAreNamedByHeadersAndPaths(t *testing.T) {
	for _, c := range []struct {
		path    string
		headers []string
		want    string
	}{
		{chatPath, []string{"X-Dynamo-Session-Id", "dynamo"}, "dynamo"},
		{chatPath, []string{"X-Session-Id", "plain", "X-Dynamo-Session-Id", "dynamo"}, "dynamo"},
		{chatPath, []string{"X-Session-Id", "plain"}, "plain"},
		{"/s/path" + chatPath, nil, "path"},
		{"/s/path" + chatPath, []string{"X-Dynamo-Session-Id", "dynamo"}, "path"},
		{"/s/path" + chatPath, []string{"X-Reprise-Session", "own"}, "own"},
	} {
		u := &upstream{answer: "hi", describes: true}
		s := start(t, u)
		s.post(c.path, fmt.Sprintf(hello, ""), c.headers...)
		s.post(c.path, fmt.Sprintf(hello, ""), c.headers...)
		tasks, _, _ := s.finish()
		if len(tasks) != 1 || len(tasks[0].Nodes) < 2 || tasks[0].ID != c.want || tasks[0].Nodes[1].Session != c.want {
			t.Errorf("%s %q: %d tasks, want one of session %s", c.path, c.headers, len(tasks), c.want)
		}
	}
}

package sse_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/sse"
)

// parsed is the events of a stream that arrives in the given pieces.
func parsed(pieces ...string) (all []string, pending bool) {
	var p sse.Parser
	for _, piece := range pieces {
		p.Write([]byte(piece), func(name, data []byte) { all = append(all, fmt.Sprintf("%s|%s", name, data)) })
	}
	return all, p.Pending()
}

func TestEventsOfAStreamThatPasses(t *testing.T) {
	for _, c := range []struct {
		stream  string
		want    []string
		pending bool
	}{
		{"data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`|{"a":1}`, "|[DONE]"}, false},
		{"event: ping\r\ndata: x\r\n\r\n", []string{"ping|x"}, false},
		{"data:x\rdata:y\r\r", []string{"|x\ny"}, false},
		{"\xef\xbb\xbfdata: x\n\n", []string{"|x"}, false},
		{": a remark\nid: 7\nretry: 3\ndata\n\n", []string{"|"}, false},
		{"event: only\n\n\n", nil, false},
		{"data: cut", nil, true},
		{"data: no empty line\n", nil, true},
	} {
		got, pending := parsed(c.stream)
		if !reflect.DeepEqual(got, c.want) || pending != c.pending {
			t.Errorf("%q: %q, pending %v, want %q", c.stream, got, pending, c.want)
		}
	}
}

func TestPiecesOfAStreamThatPassesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"data: ", "data:{}", "event: e", "x", "\n", "\r\n", "\r", "\n\n", ":", "\xef\xbb\xbf", " "}))
		stream := strings.Join(words.Draw(t, "stream"), "")
		whole, wholePending := parsed(stream)
		var pieces []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		cut, cutPending := parsed(pieces...)
		if !reflect.DeepEqual(whole, cut) || wholePending != cutPending {
			t.Fatalf("%q gives %q, in pieces %q gives %q", stream, whole, pieces, cut)
		}
	})
}

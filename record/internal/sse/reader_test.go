package sse_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/record/internal/sse"
)

// events reads a stream that arrives in the given pieces.
func events(pieces ...string) (all []string, pending bool) {
	var r sse.Reader
	for _, p := range pieces {
		r.Write([]byte(p), func(name, data []byte) { all = append(all, fmt.Sprintf("%s|%s", name, data)) })
	}
	return all, r.Pending()
}

func TestEventsOfAStream(t *testing.T) {
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
		got, pending := events(c.stream)
		if !reflect.DeepEqual(got, c.want) || pending != c.pending {
			t.Errorf("%q: %q, pending %v, want %q", c.stream, got, pending, c.want)
		}
	}
}

func TestWhereAStreamIsCutDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"data: ", "data:{}", "event: e", "x", "\n", "\r\n", "\r", "\n\n", ":", "\xef\xbb\xbf", " "}))
		stream := strings.Join(words.Draw(t, "stream"), "")
		whole, wholePending := events(stream)
		var pieces []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		cut, cutPending := events(pieces...)
		if !reflect.DeepEqual(whole, cut) || wholePending != cutPending {
			t.Fatalf("%q gives %q, in pieces %q gives %q", stream, whole, pieces, cut)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add("data: a\n\nevent: b\r\ndata: c\r\n\r\n", 3)
	f.Fuzz(func(t *testing.T, stream string, at int) {
		whole, _ := events(stream)
		at = min(max(at, 0), len(stream))
		if cut, _ := events(stream[:at], stream[at:]); !reflect.DeepEqual(whole, cut) {
			t.Fatalf("%q, cut at %d %q", whole, at, cut)
		}
	})
}

package sse_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/sse"
)

// events are all events of a stream, and what ended it.
func events(in io.Reader, limit int) (list []string, err error) {
	r := sse.NewReader(in, limit)
	for {
		data, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

func TestAStreamIsSplitIntoEvents(t *testing.T) {
	for _, c := range []struct {
		what, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"two events", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"lines that end in CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"lines that end in CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"several lines of data", "data: a\ndata: b\ndata:\n\n", []string{"a\nb\n"}},
		{"no space, two spaces", "data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{"comments and other fields", ": hi\nevent: x\ndata: a\nid: 7\nretry\n\n:\n\n", []string{"a"}},
		{"data without a colon", "data\n\n", []string{""}},
		{"a field that begins with data", "database: a\n\n", nil},
		{"empty lines", "\n\n\ndata: a\n\n\n\n", []string{"a"}},
		{"a byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
		{"no last empty line", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no last line end", "data: a\n\ndata: b", []string{"a", "b"}},
	} {
		got, err := events(strings.NewReader(c.stream), sse.MaxEvent)
		if !slices.Equal(got, c.want) || err != io.EOF {
			t.Errorf("%s: %q and %v, want %q", c.what, got, err, c.want)
		}
	}
}

func TestAnEventThatIsTooLongEndsTheStream(t *testing.T) {
	for _, stream := range []string{
		"data: " + strings.Repeat("x", 20_000) + "\n\n",
		strings.Repeat("data: "+strings.Repeat("x", 100)+"\n", 100) + "\n",
		strings.Repeat("x", 20_000),
	} {
		if got, err := events(strings.NewReader(stream), 8000); len(got) > 0 || !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%d events and %v, want none and %v", len(got), err, sse.ErrTooLong)
		}
	}
}

func TestAnErrorOfTheStreamComesBehindItsEvents(t *testing.T) {
	broken := errors.New("connection reset")
	got, err := events(io.MultiReader(strings.NewReader("data: a\n\n"), iotest.ErrReader(broken)), sse.MaxEvent)
	if !slices.Equal(got, []string{"a"}) || err != broken {
		t.Errorf("%q and %v, want a and %v", got, err, broken)
	}
}

// dribble reads at most n bytes at a time, n drawn each time.
type dribble struct {
	in   io.Reader
	next func() int
}

func (d dribble) Read(p []byte) (int, error) { return d.in.Read(p[:min(len(p), d.next())]) }

func TestWhereAStreamIsCutChangesNothing(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"data: a", "data:", "data", ": c", "event: x", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "x", " ", "\xef\xbb\xbf"})
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOf(pieces).Draw(t, "stream"), "")
		want, _ := events(strings.NewReader(stream), sse.MaxEvent)
		got, err := events(dribble{strings.NewReader(stream), func() int { return rapid.IntRange(1, 3).Draw(t, "read") }}, sse.MaxEvent)
		if !slices.Equal(got, want) || err != io.EOF {
			t.Fatalf("%q in pieces: %q and %v, want %q", stream, got, err, want)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("\xef\xbb\xbfdata: a\r\ndata:b\r\r: c\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		want, err := events(strings.NewReader(string(stream)), sse.MaxEvent)
		if err != io.EOF {
			t.Fatalf("%v, want the end", err)
		}
		total := 0
		for _, e := range want {
			total += len(e)
		}
		if total > len(stream) {
			t.Fatalf("%d bytes of events in a stream of %d", total, len(stream))
		}
		if got, err := events(iotest.OneByteReader(strings.NewReader(string(stream))), sse.MaxEvent); !slices.Equal(got, want) || err != io.EOF {
			t.Fatalf("byte by byte: %q and %v, want %q", got, err, want)
		}
		whole, _ := parsed(string(stream))
		at := len(stream) / 2
		if cut, _ := parsed(string(stream[:at]), string(stream[at:])); !slices.Equal(cut, whole) {
			t.Fatalf("as it passes, in two pieces: %q, want %q", cut, whole)
		}
		if n := len(want) - len(whole); n < 0 || n > 1 { // the last one may be cut off
			t.Fatalf("%d events as it passes, %d fetched", len(whole), len(want))
		}
	})
}

package wire_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
)

const forced = `{"prompt":[1,2,3,4,5,6,7,8,9,10],"max_tokens":6,"stream":%v,"stream_options":{"include_usage":true},` +
	`"return_token_ids":true,"vllm_xargs":{"reprise_tokens":[11,12,13,14,15,16]}}`

// ask sends one forced call of six tokens to a server with faults, in a bubble: time
// passes only where somebody waits.
func ask(t *testing.T, o livetest.Options, stream bool, change func(*wire.Options), during func(cancel func())) (a *wire.Answer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Plugin = true
		network := livetest.NewNetwork()
		defer network.Serve("server", livetest.New(o))()
		began := time.Now()
		options := wire.Options{Dial: network.Dial, Now: func() float64 { return float64(time.Since(began)) / 1e6 }}
		if change != nil {
			change(&options)
		}
		client := wire.NewClient(options)
		defer client.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if during != nil {
			go during(cancel)
		}
		a = client.Do(ctx, &wire.Request{URL: "http://server/v1/completions", Body: fmt.Appendf(nil, forced, stream)})
	})
	return a
}

// options of a server that takes 2 ms for a token of the prompt and 10 ms for each of
// the output.
func paced(f livetest.Faults) livetest.Options {
	return livetest.Options{PerInput: 2 * time.Millisecond, PerOutput: 10 * time.Millisecond, CachedCount: true, Times: true,
		Faults: func(*livetest.Received) livetest.Faults { return f }}
}

// chunks is when pieces of the answer came and how many ids they held.
func chunks(a *wire.Answer) string {
	var b strings.Builder
	for _, c := range a.Chunks {
		fmt.Fprintf(&b, "%v:%d ", c.AtMs, c.N)
	}
	return strings.TrimSpace(b.String())
}

func TestEveryPieceHasItsTime(t *testing.T) {
	for _, c := range []struct {
		what   string
		faults livetest.Faults
		stream bool
		want   string
	}{
		{"one id in a piece", livetest.Faults{}, true, "30:1 40:1 50:1 60:1 70:1 80:1"},
		{"four ids in a piece", livetest.Faults{IDsPerChunk: 4}, true, "60:4 80:2"},
		{"pieces that arrive in pieces", livetest.Faults{SplitFrames: true, CRLF: true, Comments: true}, true, "30:1 40:1 50:1 60:1 70:1 80:1"},
		{"not streamed", livetest.Faults{}, false, "80:6"},
		{"no [DONE]", livetest.Faults{NoDone: true}, true, "30:1 40:1 50:1 60:1 70:1 80:1"},
	} {
		a := ask(t, paced(c.faults), c.stream, nil, nil)
		if a.Failure != nil || chunks(a) != c.want || fmt.Sprint(a.IDs) != "[11 12 13 14 15 16]" || a.Finish != "length" {
			t.Errorf("%s: %s, ids %v, finish %q, failure %v; want %s", c.what, chunks(a), a.IDs, a.Finish, a.Failure, c.want)
		}
		cached, known := a.Usage.Cached()
		if a.Usage.PromptTokens != 10 || a.Usage.CompletionTokens != 6 || cached != 0 || !known {
			t.Errorf("%s: usage %+v", c.what, a.Usage)
		}
		if a.Times == nil || *a.Times.PrefillMs != 20 || *a.Times.DecodeMs != 60 {
			t.Errorf("%s: server times %+v, want 20 and 60 ms", c.what, a.Times)
		}
		if a.SendMs != 0 || a.WrittenMs != 0 || a.LastByteMs != 80 || c.stream && a.FirstByteMs != 20 {
			t.Errorf("%s: sent at %v, written %v, first byte %v, last byte %v", c.what, a.SendMs, a.WrittenMs, a.FirstByteMs, a.LastByteMs)
		}
	}
}

func TestFailuresHaveTheirKind(t *testing.T) {
	for _, c := range []struct {
		what   string
		faults livetest.Faults
		kind   metrics.Reason
		detail string
		ids    int
		endMs  float64
	}{
		{"refused", livetest.Faults{Refuse: "token ids [1024] are outside the vocabulary"}, metrics.ServerRefused, "outside the vocabulary", 0, 0},
		{"refused inside the stream", livetest.Faults{InStream: "max_tokens must equal"}, metrics.ServerRefused, "max_tokens must equal", 0, 20},
		{"overloaded", livetest.Faults{Unavailable: 1, RetryAfter: "3"}, metrics.ServerError, "overloaded", 0, 0},
		{"dies in mid-stream", livetest.Faults{ErrorAfter: 2}, metrics.ServerError, "the engine died", 2, 40},
		{"the connection ends", livetest.Faults{BreakAfter: 3}, metrics.BrokenStream, "EOF", 3, 50},
		{"garbage", livetest.Faults{Garbage: 1}, metrics.BrokenStream, `the answer makes no sense: unexpected end of JSON input in "{\"choices\":["`, 1, 30},
		{"no finish reason", livetest.Faults{NoFinish: true}, metrics.BrokenStream, "the answer ended after 6 tokens without a finish_reason", 6, 80},
		{"nothing comes any more", livetest.Faults{StallAfter: 4}, metrics.Stalled, "nothing came for too long", 4, 1060},
	} {
		a := ask(t, paced(c.faults), true, func(o *wire.Options) { o.Stall = time.Second }, nil)
		if a.Failure == nil || a.Failure.Kind != c.kind || !strings.Contains(a.Failure.Detail, c.detail) {
			t.Errorf("%s: failure %v, want %s: %s", c.what, a.Failure, c.kind, c.detail)
			continue
		}
		if len(a.IDs) != c.ids || a.LastByteMs != c.endMs {
			t.Errorf("%s: %d ids, end at %v ms; want %d at %v", c.what, len(a.IDs), a.LastByteMs, c.ids, c.endMs)
		}
		if want := map[metrics.Reason]int{metrics.ServerRefused: 400, metrics.BrokenStream: 200}[c.kind]; want > 0 && a.Failure.Status != want {
			t.Errorf("%s: status %d, want %d", c.what, a.Failure.Status, want)
		}
	}
}

func TestAServerMaySayWhenToTryAgain(t *testing.T) {
	a := ask(t, paced(livetest.Faults{Unavailable: 1, RetryAfter: "3"}), true, nil, nil)
	if a.Failure == nil || a.Failure.RetryAfter != 3*time.Second || a.Failure.Status != 503 {
		t.Errorf("failure %+v, want 503 and 3 s", a.Failure)
	}
}

func TestACallMayTakeOnlySoLong(t *testing.T) {
	a := ask(t, paced(livetest.Faults{}), true, func(o *wire.Options) { o.Timeout = 45 * time.Millisecond }, nil)
	if a.Failure == nil || a.Failure.Kind != metrics.TimedOut || len(a.IDs) != 2 || a.LastByteMs != 45 {
		t.Errorf("failure %v, %d ids, end at %v; want timed_out after 2 ids at 45 ms", a.Failure, len(a.IDs), a.LastByteMs)
	}
}

func TestAnInterruptedCallKeepsWhatHasCome(t *testing.T) {
	a := ask(t, paced(livetest.Faults{}), true, nil, func(cancel func()) {
		time.Sleep(55 * time.Millisecond)
		cancel()
	})
	if a.Failure == nil || a.Failure.Kind != metrics.Interrupted || len(a.IDs) != 3 {
		t.Errorf("failure %v, %d ids; want interrupted after 3", a.Failure, len(a.IDs))
	}
}

func TestNobodyThereIsUnreachable(t *testing.T) {
	c := wire.NewClient(wire.Options{Dial: livetest.NewNetwork().Dial, Now: func() float64 { return 7 }})
	defer c.Close()
	a := c.Do(context.Background(), &wire.Request{URL: "http://nobody/v1/completions", Body: []byte("{}")})
	if a.Failure == nil || a.Failure.Kind != metrics.Unreachable || !math.IsNaN(a.FirstByteMs) || !math.IsNaN(a.WrittenMs) {
		t.Errorf("failure %v, first byte %v", a.Failure, a.FirstByteMs)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := livetest.NewNetwork()
		defer network.Serve("server", livetest.New(livetest.Options{Plugin: true}))()
		c := wire.NewClient(wire.Options{Dial: network.Dial, Now: func() float64 { return 0 }})
		defer c.Close()
		for i := range 3 {
			tokens := int32(0)
			a := c.Do(context.Background(), &wire.Request{URL: "http://server/v1/completions", Body: fmt.Appendf(nil, forced, true),
				Tokens: func(n int32, _ float64) { tokens = n }})
			synctest.Wait() // until the connection is back in the pool
			if a.Failure != nil || a.Reused != (i > 0) || tokens != 6 {
				t.Errorf("call %d: failure %v, reused %v, told of %d tokens", i, a.Failure, a.Reused, tokens)
			}
		}
	})
}

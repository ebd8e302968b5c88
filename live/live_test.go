package live_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
)

// agents is a trace of two tasks: a call, two tools side by side, a call; and a call.
func agents(t *testing.T) trace.Trace {
	t.Helper()
	tr, err := formats.Open([]string{"testdata/agents.jsonl"}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// settings of a replay against http://server.
func settings() live.Settings {
	s := live.Defaults()
	s.Targets, s.Run = []string{"http://server"}, "r"
	return s
}

// server is one that forces tokens, and takes 1 ms for a token of the prompt and 10 ms
// for each of the output.
func server() livetest.Options {
	return livetest.Options{Plugin: true, CachedCount: true, PerInput: time.Millisecond, PerOutput: 10 * time.Millisecond}
}

func TestEveryTokenIsForcedAndVerified(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	synctest.Test(t, func(t *testing.T) {
		network := livetest.NewNetwork()
		defer network.Serve("server", livetest.New(server()))()
		r, err := live.Prepare(context.Background(), settings(), agents(t), live.Options{Dial: network.Dial, Out: dir})
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if f := result.Repetitions[0].Fidelity; !result.Faithful() || f.VerifiedTokens != 13 || f.PlannedTokens != 13 || f.Faithful != 3 {
			t.Errorf("faithful %v: %+v", result.Faithful(), f)
		}
	})
}

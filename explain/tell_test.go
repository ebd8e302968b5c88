package explain

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
)

// TestStories tells decisions as logs have them:
//
//	settings     keys of the configuration, in JSON, for the stories that follow
//	tell         a line of a log, perhaps wrapped
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var now settings
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "settings":
				now = settings{}
				read(t, d, &now)
				return ""
			case "tell":
				s := &Story{settings: now}
				read(t, d, &s.Decision)
				var text strings.Builder
				if err := s.WriteText(&text); err != nil {
					t.Fatal(err)
				}
				return text.String()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func read(t *testing.T, d *datadriven.TestData, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(d.Input), v); err != nil {
		d.Fatalf(t, "%v", err)
	}
}

func TestOutcomes(t *testing.T) {
	nan := math.NaN()
	unknown := metrics.Tiers{L0: -1, L1: -1, Remote: -1, Miss: -1}
	for _, c := range []struct {
		name   string
		record rundir.Record
		want   string
	}{
		{"completed", rundir.Record{
			Row: metrics.Row{Status: metrics.Completed, ArrivalMs: 100, SubmitMs: 100.04, EndMs: 450, OutputTokens: 17, Preemptions: 1,
				Tiers: metrics.Tiers{L0: 1, L1: 2, Remote: 3, Miss: 4, RemoteStale: 2, LoadWaitMs: 1.5}},
			QueueMs: 2, PrefillMs: 90, TTFTMs: 92.04, TPOTMs: 12.5,
		}, `
Of its 10 full blocks 1 came from L0 (the KV pool), 2 from L1 (host memory), 3 from other instances,
and 4 had to be computed.
That saved the prefill of 24 tokens.
2 blocks were promised by other instances and gone when asked for.
Loading took 1.5 ms, part of its wait.

First token after 92.04 ms: 0.04 on the way, 2 waiting, 90 prefill.
It ended as completed 350 ms after it came, with 17 tokens, one every 12.5 ms, and 1 preemption.
`},
		{"rejected", rundir.Record{
			Row:    metrics.Row{Status: metrics.Rejected, Reason: "needs_blocks: 75 of 63", ArrivalMs: 5, EndMs: 5, Tiers: unknown},
			TTFTMs: nan, TPOTMs: nan,
		}, `
It ended as rejected (needs_blocks: 75 of 63) 0 ms after it came, with 0 tokens.
`},
		{"interrupted", rundir.Record{
			Row:     metrics.Row{Status: metrics.Unfinished, Reason: metrics.Interrupted, ArrivalMs: 5, SubmitMs: 5, EndMs: 12, OutputTokens: 1, Tiers: metrics.Tiers{Miss: 10}},
			QueueMs: 1, PrefillMs: 2, TTFTMs: 3, TPOTMs: nan,
		}, `
Of its 10 full blocks 0 came from L0 (the KV pool), 0 from L1 (host memory), 0 from other instances,
and 10 had to be computed.

First token after 3 ms: 0 on the way, 1 waiting, 2 prefill.
It ended as unfinished (interrupted) 7 ms after it came, with 1 token.
`},
	} {
		s := &Story{Record: &c.record}
		s.Decision.InputLength, s.settings.Engine.BlockSize = 43, 4
		var got strings.Builder
		s.outcome(&got)
		if got.String() != c.want {
			t.Errorf("%s: got%swant%s", c.name, got.String(), c.want)
		}
	}
}

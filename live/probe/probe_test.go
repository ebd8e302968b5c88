package probe_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/live/wire"
)

// TestServersAreFoundOut asks servers, described by what they were started with:
//
//	ask trace_replay scale_out plugin cached times no_ids experts routes_dir return_experts model=m want=m
//	----
//	what was found
//
//	knows id=5000
//	----
//	whether the server of the last question has that token
func TestServersAreFoundOut(t *testing.T) {
	var o livetest.Options
	datadriven.RunTest(t, "testdata/servers.txt", func(t *testing.T, td *datadriven.TestData) (out string) {
		if td.Cmd == "ask" {
			o = options(t, td)
		}
		synctest.Test(t, func(t *testing.T) {
			network := livetest.NewNetwork()
			defer network.Serve("server", livetest.New(o))()
			client := wire.NewClient(wire.Options{Dial: network.Dial, Now: func() float64 { return 0 }})
			defer client.Close()
			p := &probe.Prober{Client: client, URL: "http://server"}
			if td.HasArg("want") {
				p.Models = make([]string, 1)
				td.ScanArgs(t, "want", &p.Models[0])
			}
			if td.HasArg("nobody") {
				p.URL = "http://nobody"
			}
			c, err := p.Ask(context.Background())
			switch {
			case err != nil:
				out = err.Error()
			case td.Cmd == "knows":
				var id uint32
				td.ScanArgs(t, "id", &id)
				out = map[bool]string{true: "yes", false: "no"}[p.Knows(context.Background(), c, id)]
			default:
				out = strings.Join(c.Lines(), "\n")
			}
		})
		return out
	})
}

func options(t *testing.T, td *datadriven.TestData) livetest.Options {
	o := livetest.Options{
		TraceReplay: td.HasArg("trace_replay"), ScaleOut: td.HasArg("scale_out"), Plugin: td.HasArg("plugin"),
		CachedCount: td.HasArg("cached"), Times: td.HasArg("times"), NoTokenIDs: td.HasArg("no_ids"),
	}
	if td.HasArg("experts") {
		o.Experts = &livetest.Experts{Layers: 4, TopK: 2, Count: 16, Return: td.HasArg("return_experts")}
		if td.HasArg("routes_dir") {
			o.Experts.RoutesDir = t.TempDir()
		}
	}
	td.MaybeScanArgs(t, "model", &o.Model)
	if td.HasArg("refuses") {
		var text string
		td.ScanArgs(t, "refuses", &text)
		o.Faults = func(*livetest.Received) livetest.Faults { return livetest.Faults{Refuse: text} }
	}
	return o
}

func TestCountersAreThoseOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := livetest.NewNetwork()
		defer network.Serve("server", livetest.New(livetest.Options{Plugin: true}))()
		client := wire.NewClient(wire.Options{Dial: network.Dial, Now: func() float64 { return 0 }})
		defer client.Close()
		p := &probe.Prober{Client: client, URL: "http://server"}
		before := p.Counters(context.Background())
		if _, err := p.Ask(context.Background()); err != nil || before == nil {
			t.Fatal(before, err)
		}
		if got, want := p.Counters(context.Background()).Since(*before), (probe.Counters{CallsForced: 1, TokensForced: 3, TokensVerified: 3}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
}

package live_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
	"github.com/reprise-sim/reprise/trace/formats"
)

// run replays a trace on one server, in a bubble.
func run(t *testing.T, o livetest.Options, p live.Settings, tr trace.Trace, options live.Options) (result *live.Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := livetest.NewNetwork()
		defer network.Serve("server", livetest.New(o))()
		options.Dial = network.Dial
		p.Targets, p.Run = []string{"http://server"}, "r"
		var r *live.Replay
		if r, err = live.Prepare(context.Background(), p, tr, options); err != nil {
			return
		}
		result, err = r.Run(context.Background())
	})
	return result, err
}

// recorded is the agents' trace with experts: 2 layers, 2 of 8 experts each.
func recorded(t *testing.T) (tr trace.Trace, path string) {
	t.Helper()
	dir := t.TempDir()
	path = experts.Path(filepath.Join(dir, "agents.jsonl"))
	w, err := experts.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{"a/0": 23, "a/1": 15, "b/0": 7} // a/1 begins at position 24, which a/0 never computed
	for key, n := range rows {
		table := experts.NewTable(n, 2, 2)
		for i := range table.IDs {
			table.IDs[i] = uint16(2*(i/2%3) + i%2)
		}
		if err := w.Add(key, table); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, "experts.jsonl"), path
}

func TestRecordedExpertsAreForcedAndVerified(t *testing.T) {
	tr, path := recorded(t)
	for _, c := range []struct {
		what                      string
		returns                   bool
		wrong                     int
		forced, verified, planned int64
		faithful                  bool
	}{
		// 23 + 39 + 7 positions of 2 layers; position 23 of a/1 is a hole.
		{"returned", true, 0, 2 * (23 + 38 + 7), 2 * (23 + 38 + 7), 2 * (23 + 39 + 7), true},
		{"not returned", false, 0, 2 * (23 + 38 + 7), 0, 2 * (23 + 39 + 7), true},
		{"one differs in each call", true, 3, 2 * (23 + 38 + 7), 2*(23+38+7) - 3, 2 * (23 + 39 + 7), false},
	} {
		dir := t.TempDir()
		o := livetest.Options{Plugin: true, Experts: &livetest.Experts{Layers: 2, TopK: 2, Count: 8, Return: c.returns, RoutesDir: dir}}
		o.Faults = func(*livetest.Received) livetest.Faults { return livetest.Faults{WrongExpert: c.wrong} }
		p := live.Defaults()
		p.Experts, p.RoutesDir = live.ExpertsExact, dir
		result, err := run(t, o, p, tr, live.Options{Experts: path})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		f := result.Repetitions[0].Fidelity
		if f.ForcedExperts != c.forced || f.VerifiedExperts != c.verified || f.PlannedExperts != c.planned || result.Faithful() != c.faithful {
			t.Errorf("%s: faithful %v, %+v", c.what, result.Faithful(), f)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%s: tables left behind: %v, %v", c.what, left, err)
		}
	}
}

func TestExpertsThatCannotBeForcedAreRefused(t *testing.T) {
	tr, path := recorded(t)
	armed := func(layers int) livetest.Options {
		return livetest.Options{Plugin: true, Experts: &livetest.Experts{Layers: layers, TopK: 2, Count: 8, RoutesDir: "x"}}
	}
	for _, c := range []struct {
		what, path, tokens, want string
		server                   livetest.Options
	}{
		{"a dense model", path, live.Auto, "http://server: experts: exact: the model has no experts", livetest.Options{Plugin: true}},
		{"no package", path, live.Auto, "http://server: experts: exact: want the package of integrations/vllm in the server", livetest.Options{ScaleOut: true, TraceReplay: true}},
		{"no folder", path, live.Auto, "http://server: experts: exact: want the server started with REPRISE_ROUTES_DIR", livetest.Options{Plugin: true, Experts: &livetest.Experts{Layers: 2, TopK: 2, Count: 8}}},
		{"lengths only", path, live.TokensLength, "experts: exact: outputs are forced by length, which gives prompts and output lengths: want every token", armed(2)},
		{"another model", path, live.Auto, "experts: recorded 2 in each of 2 layers, http://server has 2 in 3: want a recording of this model", armed(3)},
		{"no recording", "nowhere", live.Auto, "experts: exact: the trace has none: want nowhere", armed(2)},
	} {
		p := live.Defaults()
		p.Experts, p.RoutesDir, p.Tokens = live.ExpertsExact, "x", c.tokens
		if _, err := run(t, c.server, p, tr, live.Options{Experts: c.path}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
}

// What a simulation's reader reads, a live run writes.
func TestALiveRunIsReadLikeASimulation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := livetest.Options{Plugin: true, CachedCount: true, Times: true, PerInput: 1e6, PerOutput: 1e7}
	if _, err := run(t, o, live.Defaults(), open(t, "agents.jsonl"), live.Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	r, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Info.Kind != rundir.KindLive || r.Info.Live.Force != "plugin" || r.Info.Live.Level != 3 || r.Summary.Accounting.Completed != 3 {
		t.Errorf("%+v, %+v", r.Info.Live, r.Summary.Accounting)
	}
	in, err := r.Requests()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var row rundir.Record
	for _, want := range []struct {
		id              string
		arrival, first  float64
		cached          int32
		server, modelMs float64
	}{{"a/0", 0, 30, 0, 20, 60}, {"b/0", 0, 15, 0, 5, 35}, {"a/1", 870, 898, 16, 18, 78}} {
		if err := in.Next(&row); err != nil {
			t.Fatal(err)
		}
		l := row.Live
		if row.Request != want.id || row.ArrivalMs != want.arrival || row.FirstMs != want.first || row.CachedTokens != want.cached ||
			l.ServerPrefillMs != want.server || l.ModelMs != want.modelMs || l.LagMs != 0 || l.Faithful != rundir.Faithful || row.TTFTMs != want.first-want.arrival {
			t.Errorf("%+v, %+v; want %+v", row.Row, l, want)
		}
	}
}

// Bodies are made before they are due, by recorded ids or by made-up ones.
func TestATraceOfBlocksIsReplayedByLengths(t *testing.T) {
	tr, err := formats.Open([]string{"testdata/blocks.jsonl"}, formats.Options{BlockSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	p := live.Defaults()
	result, err := run(t, livetest.Options{CachedCount: true}, p, tr, live.Options{})
	if err == nil {
		t.Fatalf("%+v, want a refusal: ids of 32,000 are made up for a model of 1,024", result)
	}
	p.Vocabulary, p.CacheSalt = 1024, live.SaltNone
	result, err = run(t, livetest.Options{CachedCount: true}, p, tr, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := result.Repetitions[0]
	if !result.Faithful() || one.Fidelity.Faithful != 2 || one.Fidelity.ForcedTokens != 0 {
		t.Errorf("%+v, %+v", one.Fidelity, one.Failures)
	}
	if want := 16. / (40 + 36); math.Abs(one.Summary.ReuseRatio-want) > 1e-12 {
		t.Errorf("reuse %v, want %v: the block that both prompts begin with", one.Summary.ReuseRatio, want)
	}
}

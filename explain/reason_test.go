package explain

import (
	"testing"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// requestsOf are a request with full blocks and one without.
func requestsOf(view *routingtest.View) []routing.Request {
	long := routing.Request{InputTokens: 200, Session: "s", Prompt: token.Stream(1, 200), Rank: -1}
	view.BlockKeys = long.Prompt.Keys(nil, view.BlockSize())
	return []routing.Request{long, {InputTokens: 10, Session: "s", Prompt: token.Stream(1, 10), Rank: -1}}
}

// Every reason that a local policy gives has words, and no words are left over.
func TestEveryReasonOfInstancesHasWords(t *testing.T) {
	unused := map[string]bool{}
	for name := range instanceReasons {
		unused[name] = true
	}
	for _, p := range routing.Policies() {
		settings := routing.Defaults()
		settings.Mode = p.Mode
		placement := p.New(settings, arrival.NewRand(1, "test"))
		view := &routingtest.View{
			Loads: []engine.Load{{BlocksTotal: 9}, {BlocksTotal: 9}, {BlocksTotal: 9}},
			Price: func(tokens int64) float64 { return float64(tokens) },
		}
		for i := range view.Loads {
			placement.Topology(routing.Change{Worker: int32(i), Targets: []int32{int32(i)}}, 0, nil)
		}
		for _, r := range requestsOf(view) {
			if r.InputTokens < int32(view.BlockSize()) {
				view.BlockKeys = nil
			}
			choice, _, err := placement.Place(&r, view, 0)
			if err != nil {
				t.Fatal(p.Mode, err)
			}
			if _, ok := instanceReasons[choice.Reason]; !ok {
				t.Errorf("%s: there are no words for %s", p.Mode, choice.Reason)
			}
			delete(unused, choice.Reason)
		}
	}
	for name := range unused {
		t.Errorf("no policy says %s", name)
	}
}

// The same of buckets.
func TestEveryReasonOfBucketsHasWords(t *testing.T) {
	unused := map[string]bool{}
	for name := range bucketReasons {
		unused[name] = true
	}
	for _, p := range routing.GlobalPolicies() {
		settings := routing.GlobalDefaults()
		settings.Mode = p.Mode
		router := p.New(settings)
		for _, active := range []int32{0, 1000} {
			buckets := []routing.BucketView{
				&routingtest.Bucket{Is: routing.Bucket{ID: 0, Max: 99, BlockSize: 4}, Has: routing.Counts{Instances: 1, Active: active}},
				&routingtest.Bucket{Is: routing.Bucket{ID: 1, Min: 100, Max: routing.Unlimited, BlockSize: 4}, Has: routing.Counts{Instances: 1}},
			}
			choice, err := router.RouteBucket(&routing.Request{InputTokens: 50}, buckets)
			if err != nil {
				t.Fatal(p.Mode, err)
			}
			if _, ok := bucketReasons[choice.Reason]; !ok {
				t.Errorf("%s: there are no words for %s", p.Mode, choice.Reason)
			}
			delete(unused, choice.Reason)
		}
	}
	for name := range unused {
		t.Errorf("no policy says %s", name)
	}
}

// A reason of somebody else's policy stands for itself.
func TestAReasonWithoutWordsStandsForItself(t *testing.T) {
	if r := why(instanceReasons, "most_free_blocks"); r.words != "of most_free_blocks" || r.by != nil {
		t.Errorf("%+v", r)
	}
}

func TestMargins(t *testing.T) {
	name := func(i *instance) string { return string('a' + rune(i.ID)) }
	scored := func(scores ...float64) (all []instance) {
		for i, s := range scores {
			all = append(all, instance{ID: int32(i), Score: &s, Prefix: int32(s)})
		}
		return all
	}
	unscored := instance{ID: 9}
	for _, c := range []struct {
		by   measure[instance]
		all  []instance // the first one won
		want string
	}{
		{instanceScore, scored(0.25, 0.5, 0.375), "score 0.25; the next, c, has 0.375."},
		{instanceScore, scored(0.25, 0.5, 0.25), "score 0.25, as c has; between equals tie."},
		{instanceScore, scored(0.25), "score 0.25; there was no other."},
		{instanceScore, append(scored(0.25), unscored), "score 0.25; there was no other."},
		{instanceScore, []instance{unscored}, ""},
		{prefix, scored(7, 2, 4), "prefix in blocks 7; the next, c, has 4."},
		{resident, scored(7, 2), ""},
	} {
		r := reason[instance]{by: &c.by, ties: "tie"}
		if got := r.margin(&c.all[0], c.all[1:], name); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

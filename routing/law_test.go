package routing_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// drawView is a bucket of up to 20 targets in any state, some of which drain, and a
// request for it.
func drawView(t *rapid.T) (*routingtest.View, routing.Request) {
	n := rapid.IntRange(1, 20).Draw(t, "targets")
	v := &routingtest.View{
		Block: rapid.SampledFrom([]int{1, 4, 64}).Draw(t, "block"),
		Price: func(tokens int64) float64 { return float64(tokens) / 10 },
	}
	r := routing.Request{Rank: -1, InputTokens: rapid.Int32Range(0, 300).Draw(t, "tokens")}
	r.Session = rapid.SampledFrom([]string{"", "a", "b", "ä"}).Draw(t, "session")
	if rapid.Bool().Draw(t, "known") {
		r.Prompt = token.Stream(rapid.Uint64().Draw(t, "prompt"), int(r.InputTokens))
		v.BlockKeys = r.Prompt.Keys(nil, v.Block)
	}
	if rapid.Bool().Draw(t, "remote") {
		v.Fetch = func(blocks int32) float64 { return 0.5 + float64(blocks) }
	}
	few := rapid.IntRange(0, 3) // so that ties are common
	for i := range n {
		total := 10
		v.Loads = append(v.Loads, engine.Load{
			Waiting: few.Draw(t, "waiting") * rapid.SampledFrom([]int{1, 10}).Draw(t, "crowd"), Running: few.Draw(t, "running"),
			BlocksUsed: few.Draw(t, "used"), BlocksTotal: total, PrefillTokens: 100 * few.Draw(t, "prefill"),
		})
		v.Prefixes = append(v.Prefixes, min(int32(few.Draw(t, "prefix")), routing.MaxPrefix(r.InputTokens, v.Block)))
		v.Held = append(v.Held, few.Draw(t, "held")*v.Block)
		if rapid.IntRange(0, 3).Draw(t, "away") == 0 {
			v.Away = append(v.Away, i)
		}
	}
	return v, r
}

// drawSettings is a local router of any mode.
func drawSettings(t *rapid.T) routing.Settings {
	s := routing.Defaults()
	var modes []string
	for _, p := range routing.Policies() {
		modes = append(modes, p.Mode)
	}
	s.Mode = rapid.SampledFrom(modes).Draw(t, "mode")
	s.PrefixK = rapid.IntRange(1, 3).Draw(t, "prefix_k")
	s.AffinityFanOut = rapid.IntRange(0, 5).Draw(t, "fan_out")
	s.PreciseProbeTopK = rapid.IntRange(1, 5).Draw(t, "topk")
	s.ScoreBeta = rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "beta")
	return s
}

// announce tells a placement who takes requests.
func announce(p routing.Placement, v *routingtest.View) {
	for i := range v.Loads {
		c := routing.Change{Worker: int32(i), Targets: []int32{int32(i)}}
		if v.Draining(i) {
			c.State = routing.Draining
		}
		p.Topology(c, 0, nil)
	}
}

func TestWhoDrainsIsNeverChosenNorAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, r := drawView(t)
		p := routing.New(drawSettings(t), rapid.Uint64().Draw(t, "seed"))
		announce(p, v)
		for range 3 {
			c, queued, err := p.Place(&r, v, 0)
			switch {
			case queued:
				t.Fatal("the request is kept")
			case err != nil && len(v.Away) < len(v.Loads):
				t.Fatal(err)
			case err != nil:
				continue
			case len(v.Away) == len(v.Loads):
				t.Fatalf("to %d, and nobody takes requests", c.Target)
			case v.Draining(int(c.Target)):
				t.Fatalf("to %d, which drains", c.Target)
			}
			for _, i := range v.Asked {
				if v.Draining(i) {
					t.Fatalf("%d drains and is asked", i)
				}
			}
		}
	})
}

// A record changes no choice, and the choice is among what the record says was
// considered.
func TestRecordsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, r := drawView(t)
		s, seed := drawSettings(t), rapid.Uint64().Draw(t, "seed")
		quiet, noted := routing.New(s, seed), routing.New(s, seed)
		announce(quiet, v)
		announce(noted, v)
		want, _, errQuiet := quiet.Place(&r, v, 0)
		var d routing.Decision
		d.SeeInstances(v, s.LoadAlpha)
		r.Decision = &d
		got, _, err := noted.Place(&r, v, 0)
		if (err != nil) != (errQuiet != nil) || got != want {
			t.Fatalf("%v (%v) with a record, %v (%v) without", got, err, want, errQuiet)
		}
		if err != nil {
			return
		}
		if len(d.Considered) > 0 && !slices.Contains(d.Considered, got.Target) {
			t.Fatalf("to %d, considered %v", got.Target, d.Considered)
		}
		lowest, scored := math.Inf(1), false
		for _, i := range d.Instances {
			if i.Score != nil {
				lowest, scored = min(lowest, *i.Score), true
			}
		}
		d.ChooseInstance(got, 0)
		if at := slices.IndexFunc(d.Instances, func(i routing.InstanceCandidate) bool { return i.ID == got.Target }); scored && *d.Instances[at].Score != lowest {
			t.Fatalf("to %d with score %v, the lowest is %v", got.Target, *d.Instances[at].Score, lowest)
		}
	})
}

// layout is some buckets as a file may list them, and their state.
func layout(t *rapid.T) []routingtest.Bucket {
	var list []routingtest.Bucket
	from := int32(0)
	for i := range rapid.IntRange(1, 5).Draw(t, "buckets") {
		from += rapid.Int32Range(0, 5).Draw(t, "gap")
		b := routingtest.Bucket{
			Is:     routing.Bucket{Name: fmt.Sprint("b", i), Min: from, MaxSeqs: rapid.Int32Range(0, 8).Draw(t, "seqs"), BlockSize: 4},
			Has:    routing.Counts{Active: rapid.Int32Range(0, 9).Draw(t, "active"), Instances: rapid.Int32Range(1, 3).Draw(t, "instances")},
			Prefix: rapid.Int32Range(0, 9).Draw(t, "prefix"),
		}
		b.Is.Max = from + rapid.Int32Range(0, 40).Draw(t, "width")
		from = b.Is.Max + 1
		list = append(list, b)
	}
	if rapid.Bool().Draw(t, "unlimited") {
		list[len(list)-1].Is.Max = routing.Unlimited
	}
	return list
}

// ranked are the views of buckets in order of their ids, which are their ranks by
// the lower end.
func ranked(list []routingtest.Bucket) []routing.BucketView {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b routingtest.Bucket) int { return int(a.Is.Min - b.Is.Min) })
	var views []routing.BucketView
	for i := range list {
		list[i].Is.ID = int32(i)
		views = append(views, &list[i])
	}
	return views
}

// decide routes a request and says what was decided: bucket, reason and all scores by
// name.
func decide(t *rapid.T, g routing.GlobalRouter, tokens int32, views []routing.BucketView) (routing.BucketChoice, string) {
	var d routing.Decision
	r := routing.Request{InputTokens: tokens, Decision: &d}
	d.SeeBuckets(&r, views)
	c, err := g.RouteBucket(&r, views)
	if err != nil {
		t.Fatal(err)
	}
	d.ChooseBucket(c, -1)
	return c, string(d.AppendJSON(nil))
}

func TestTheOrderOfTheFileChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := layout(t)
		shuffled := rapid.Permutation(list).Draw(t, "order")
		tokens := rapid.Int32Range(0, 250).Draw(t, "tokens")
		for _, p := range routing.GlobalPolicies() {
			s := routing.GlobalDefaults()
			s.Mode = p.Mode
			c, one := decide(t, routing.NewGlobal(s), tokens, ranked(list))
			_, two := decide(t, routing.NewGlobal(s), tokens, ranked(shuffled))
			if one != two {
				t.Fatalf("%s: %v\n%s\n%s", p.Mode, c, one, two)
			}
		}
	})
}

// On ranges that cover everything, bucket_score with weights 1, 0, 0 is
// strict_input_length, and so is a spill that never spills.
func TestPenaltyAloneIsStrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := layout(t)
		for i := range list { // close the gaps
			list[i].Is.Min = 0
			if i > 0 {
				list[i].Is.Min = list[i-1].Is.Max + 1
			}
		}
		list[len(list)-1].Is.Max = routing.Unlimited
		tokens := rapid.OneOf(rapid.Int32Range(0, 250), rapid.Int32Range(0, routing.Unlimited)).Draw(t, "tokens")
		views := ranked(list)
		strict, _ := decide(t, routing.StrictInputLength{}, tokens, views)
		score, _ := decide(t, routing.BucketScore{Length: 1}, tokens, views)
		spill, _ := decide(t, routing.Spill{Load: math.Inf(1)}, tokens, views)
		if strict.Bucket < 0 || score.Bucket != strict.Bucket || spill.Bucket != strict.Bucket {
			t.Fatalf("%d tokens: strict %v, score %v, spill %v", tokens, strict, score, spill)
		}
	})
}

// A bucket's load, penalty and miss are fractions in the sense that weights compare:
// none is negative, a miss is at most 1.
func TestTermsAreFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.OneOf(rapid.Int32Range(0, 250), rapid.Int32Range(0, math.MaxInt32)).Draw(t, "tokens")
		for _, v := range ranked(layout(t)) {
			penalty, load, miss := routing.LengthPenalty(tokens, v.Bucket()), routing.BucketLoad(v), routing.BucketMiss(tokens, v)
			if penalty < 0 || load < 0 || miss < 0 || miss > 1 || math.IsInf(penalty+load, 0) {
				t.Fatalf("%d tokens, %+v: penalty %v, load %v, miss %v", tokens, v, penalty, load, miss)
			}
			if inside := v.Bucket().Holds(tokens); inside != (penalty == 0) {
				t.Fatalf("%d tokens, %+v: inside %v, penalty %v", tokens, v.Bucket(), inside, penalty)
			}
		}
	})
}

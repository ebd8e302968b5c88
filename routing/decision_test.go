package routing_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// drawDecision is any decision whose lists are not nil.
func drawDecision(t *rapid.T) routing.Decision {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"request_1", "<&>", `"\`, "\u2028", "\xff"}))
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1e-7, 1e-6, 1e21, 1e20, -0.25}))
	integer := rapid.Int32()
	return routing.Decision{
		TimeMs: number.Draw(t, "time"), RequestID: text.Draw(t, "request"), SessionID: text.Draw(t, "session"), InputLength: integer.Draw(t, "length"),
		GlobalMode: text.Draw(t, "global"), LocalMode: text.Draw(t, "local"),
		ChosenBucket: rapid.Ptr(integer, true).Draw(t, "bucket"), ChosenBucketName: rapid.Ptr(text, true).Draw(t, "name"),
		ChosenInstance: rapid.Ptr(integer, true).Draw(t, "instance"),
		Buckets: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) routing.BucketCandidate {
			return routing.BucketCandidate{
				ID: integer.Draw(t, "id"), Name: text.Draw(t, "name"), Min: integer.Draw(t, "min"), Max: rapid.Ptr(integer, true).Draw(t, "max"),
				Instances: integer.Draw(t, "instances"), QueueSum: integer.Draw(t, "queue"), QueueMax: integer.Draw(t, "longest"),
				BlocksUsed: rapid.Int64().Draw(t, "used"), BlocksTotal: rapid.Int64().Draw(t, "total"), Active: integer.Draw(t, "active"),
				PredictedPrefix: integer.Draw(t, "predicted"), DrainMs: rapid.Ptr(number, true).Draw(t, "drain"),
				LengthPenalty: number.Draw(t, "penalty"), Load: number.Draw(t, "load"), Miss: number.Draw(t, "miss"), Score: rapid.Ptr(number, true).Draw(t, "score"),
			}
		}), 0, 3).Draw(t, "buckets"),
		BucketsTotal: rapid.IntRange(0, 100).Draw(t, "buckets total"),
		Instances: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) routing.InstanceCandidate {
			return routing.InstanceCandidate{
				ID: integer.Draw(t, "id"), Queue: integer.Draw(t, "queue"), Running: integer.Draw(t, "running"), BlocksUsed: integer.Draw(t, "used"),
				Load: number.Draw(t, "load"), Prefix: integer.Draw(t, "prefix"),
				Score: rapid.Ptr(number, true).Draw(t, "score"), Probed: rapid.Ptr(integer, true).Draw(t, "probed"),
			}
		}), 0, 3).Draw(t, "instances"),
		InstancesTotal: rapid.IntRange(0, 100).Draw(t, "instances total"),
		GlobalReason:   text.Draw(t, "global reason"), LocalReason: rapid.Ptr(text, true).Draw(t, "local reason"),
		LengthBucketMatch: rapid.Ptr(rapid.Bool(), true).Draw(t, "match"), ProbeMs: number.Draw(t, "probe"), ViewAgeMs: number.Draw(t, "age"),
		BestAvailable: integer.Draw(t, "best"), Regret: rapid.Ptr(integer, true).Draw(t, "regret"),
		Considered: rapid.SliceOfN(integer, 0, 3).Draw(t, "considered"),
	}
}

func TestDecisionsAreWrittenAsJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t)
		want, err := json.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("\n%s\nwant\n%s", got, want)
		}
	})
}

// What is read back is written the same again.
func FuzzDecision(f *testing.F) {
	f.Add([]byte(`{"time_ms":1.5,"chosen_bucket":null,"bucket_candidates":[{"score":null,"input_length_max":7}],"instance_candidates":[{"probed":3}],"considered":[1]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second routing.Decision
		if json.Unmarshal(text, &first) != nil {
			return
		}
		line := first.AppendJSON(nil)
		if err := json.Unmarshal(line, &second); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if again := second.AppendJSON(nil); string(again) != string(line) {
			t.Fatalf("\n%s\nis read back as\n%s", line, again)
		}
	})
}

// crowd is n targets with falling loads and a prompt.
func crowd(n int) (*routingtest.View, routing.Request) {
	r := routing.Request{Rank: -1, InputTokens: 64, Session: "s", Prompt: token.Stream(1, 64)}
	v := &routingtest.View{
		Block: 4, BlockKeys: r.Prompt.Keys(nil, 4), Prefixes: make([]int32, n), Held: make([]int, n), Asked: make([]int, 0, 1000),
		Price: func(tokens int64) float64 { return float64(tokens) },
	}
	for i := range n {
		v.Loads = append(v.Loads, engine.Load{Running: n - i, BlocksUsed: 1, BlocksTotal: 100})
	}
	return v, r
}

// Of more than 64 instances the chosen one and the best 16 are logged.
func TestLongListsOfCandidatesAreCut(t *testing.T) {
	for _, c := range []struct {
		mode   string
		n      int
		chosen int32
		ids    []int32 // kept; nil: all
	}{
		{"cache_score", 64, 63, nil},
		{"cache_score", 65, 64, []int32{49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64}},
		{"ttl_aware", 100, 3, []int32{3, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99}},
		{"cache_affinity", 100, 56, []int32{52, 56, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99}},
	} {
		v, r := crowd(c.n)
		v.Prefixes[3] = 1
		s := routing.Defaults()
		s.Mode = c.mode
		var d routing.Decision
		r.Decision = &d
		d.SeeInstances(v, s.LoadAlpha)
		choice, _, err := routing.New(s, 42).Place(&r, v, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.ChooseInstance(choice, 7)
		var ids []int32
		for _, i := range d.Instances {
			ids = append(ids, i.ID)
		}
		total := c.n
		if c.ids == nil {
			total = 0
			for i := range int32(c.n) {
				c.ids = append(c.ids, i)
			}
		}
		if choice.Target != c.chosen || !slices.Equal(ids, c.ids) || d.InstancesTotal != total {
			t.Errorf("%s over %d: to %d, kept %v of %d, want %d, %v of %d", c.mode, c.n, choice.Target, ids, d.InstancesTotal, c.chosen, c.ids, total)
		}
	}
}

// A long ranking is cut with the candidates; so are many buckets.
func TestLongRankingsAndManyBucketsAreCut(t *testing.T) {
	v, r := crowd(100)
	var d routing.Decision
	r.Decision = &d
	d.SeeInstances(v, 0.1)
	c, err := (&routing.SessionAffinity{}).RouteInstance(&r, v, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.ChooseInstance(c, 0)
	if len(d.Considered) != 16 || len(d.Instances) != 16 || d.Considered[0] != c.Target {
		t.Errorf("%d considered, %d kept", len(d.Considered), len(d.Instances))
	}
	for _, i := range d.Instances {
		if !slices.Contains(d.Considered, i.ID) {
			t.Errorf("%d is kept and not among the first", i.ID)
		}
	}

	var views []routing.BucketView
	for i := range int32(70) {
		views = append(views, &routingtest.Bucket{Is: routing.Bucket{ID: i, Name: "b", Min: 10 * i, Max: 10*i + 9, MaxSeqs: 1, BlockSize: 4}, Has: routing.Counts{Instances: 1}})
	}
	d.Reset()
	r.InputTokens = 305
	d.SeeBuckets(&r, views)
	choice, err := (&routing.BucketRoundRobin{}).RouteBucket(&r, views)
	if err != nil {
		t.Fatal(err)
	}
	d.ChooseBucket(choice, 30)
	if len(d.Buckets) != 17 || d.BucketsTotal != 70 || d.Buckets[0].ID != 0 || d.Buckets[1].ID != 23 || d.Buckets[16].ID != 38 || *d.LengthBucketMatch {
		t.Errorf("%d of %d buckets: %s", len(d.Buckets), d.BucketsTotal, d.AppendJSON(nil))
	}
}

// A record that is used again holds nothing of what it held before.
func TestRecordsAreUsedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t)
		d.Reset()
		if text, want := string(d.AppendJSON(nil)), string((&routing.Decision{}).AppendJSON(nil)); text != want {
			t.Fatalf("%s, want %s", text, want)
		}
	})
	var none *routing.Decision
	none.Reset()
	none.SeeBuckets(nil, nil)
	none.ChooseBucket(routing.BucketChoice{}, 0)
	none.SeeInstances(nil, 0)
	none.ConsiderAll()
	none.ChooseInstance(routing.Choice{}, 0)
}

// Without a record a decision takes no memory: what it needs is kept from the one
// before.
func TestDecisionsWithoutARecordTakeNoMemory(t *testing.T) {
	v, r := crowd(16)
	for _, p := range routing.Policies() {
		s := routing.Defaults()
		s.Mode = p.Mode
		router := routing.New(s, 42)
		announce(router, v)
		allocated := testing.AllocsPerRun(20, func() {
			v.Asked = v.Asked[:0]
			if _, _, err := router.Place(&r, v, 0); err != nil {
				t.Fatal(err)
			}
		})
		if allocated != 0 {
			t.Errorf("%s: %v allocations", p.Mode, allocated)
		}
	}
	views := ranked([]routingtest.Bucket{{Is: routing.Bucket{Max: routing.Unlimited, BlockSize: 4}, Has: routing.Counts{Instances: 1}}})
	for _, p := range routing.GlobalPolicies() {
		router := p.New(routing.GlobalDefaults())
		if n := testing.AllocsPerRun(20, func() { router.RouteBucket(&r, views) }); n != 0 {
			t.Errorf("%s: %v allocations", p.Mode, n)
		}
	}
}

// Every policy that has a score notes it, and the others note none.
func TestWhoHasAScoreNotesIt(t *testing.T) {
	var with []string
	for _, p := range routing.Policies() {
		v, r := crowd(4)
		s := routing.Defaults()
		s.Mode = p.Mode
		router := routing.New(s, 42)
		announce(router, v)
		var d routing.Decision
		r.Decision = &d
		d.SeeInstances(v, s.LoadAlpha)
		if _, _, err := router.Place(&r, v, 0); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(d.Instances, func(i routing.InstanceCandidate) bool { return i.Score != nil }) {
			with = append(with, p.Mode)
		}
	}
	if want := []string{"cache_affinity", "cache_score", "estimated_ttft"}; !reflect.DeepEqual(with, want) {
		t.Errorf("%v, want %v", with, want)
	}
}

package routing_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// three instances: the first is idle, the second holds three blocks of the prompt and
// runs two requests, the third has a queue.
func three() (*routingtest.View, *routing.Request) {
	prompt := token.Blocks([]uint64{0, 1, 2, 3}, 64, 256, 0)
	return &routingtest.View{
		Loads: []engine.Load{
			{BlocksTotal: 100},
			{Running: 2, BlocksUsed: 20, BlocksTotal: 100},
			{Waiting: 1, Running: 1, BlocksUsed: 10, BlocksTotal: 100, PrefillTokens: 512},
		},
		Prefixes:  []int32{0, 3, 1},
		Held:      []int{0, 192, 64},
		BlockKeys: prompt.Keys(nil, 64),
		Price:     func(tokens int64) float64 { return float64(tokens) / 10 },
	}, &routing.Request{InputTokens: 256, Session: "s1", Prompt: prompt, Rank: -1}
}

// tell prints where a router sends the request.
func tell(router routing.LocalRouter) {
	v, r := three()
	c, err := router.RouteInstance(r, v, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("to %d: %s", c.Target, c.Reason)
	if c.DelayMs > 0 {
		fmt.Printf(", %v ms later", c.DelayMs)
	}
	fmt.Println()
}

func ExampleRandom() {
	tell(&routing.Random{Draws: arrival.NewRand(42, "local_router")})
	// Output: to 0: drawn
}

func ExamplePowerOfTwo() {
	tell(&routing.PowerOfTwo{LoadAlpha: 0.1, Draws: arrival.NewRand(42, "local_router")})
	// Output: to 0: lower_load_of_two
}

func ExampleLeastLoaded() {
	tell(routing.LeastLoaded{LoadAlpha: 0.1})
	// Output: to 0: fewest_requests
}

// Decodes are no prompt tokens: the second instance looks as idle as the first, and
// the load breaks the tie.
func ExampleLeastTokens() {
	tell(routing.LeastTokens{LoadAlpha: 0.1})
	// Output: to 0: fewest_tokens
}

func ExampleSessionAffinity() {
	tell(&routing.SessionAffinity{})
	// Output: to 2: session_owner
}

func ExamplePrefixAffinity() {
	tell(&routing.PrefixAffinity{K: 2})
	// Output: to 1: prefix_owner
}

func ExampleTTLAware() {
	tell(routing.TTLAware{LoadAlpha: 0.1})
	// Output: to 1: longest_prefix
}

// Two of the three are considered: 0 and 2, whose loads are 0 and 0.3.
func ExampleCacheLoad() {
	tell(&routing.CacheLoad{LoadAlpha: 0.1})
	// Output: to 2: longest_prefix_of_least_loaded
}

// Load 0.4 and a quarter of the prompt missing, against no load and all of it missing.
func ExampleCacheScore() {
	tell(&routing.CacheScore{LoadAlpha: 0.1, Alpha: 1, Beta: 0.1})
	tell(&routing.CacheScore{LoadAlpha: 0.1, Alpha: 1, Beta: 1})
	// Output:
	// to 0: lowest_score
	// to 1: lowest_score
}

// The only owner of the prompt takes it at any load; of three the idle one wins.
func ExampleCacheAffinity() {
	score := routing.CacheScore{LoadAlpha: 0.1, Alpha: 1, Beta: 0.1}
	tell(routing.NewCacheAffinity(8, 1, score))
	tell(routing.NewCacheAffinity(8, 3, score))
	// Output:
	// to 1: lowest_score_of_affine
	// to 0: lowest_score_of_affine
}

func ExamplePrecise() {
	tell(&routing.Precise{TopK: 4, LatencyUs: 10, LoadAlpha: 0.1})
	// Output: to 1: longest_resident_prefix, 0.03 ms later
}

// 25.6 ms to compute the whole prompt, 6.4 ms for its last quarter, or 51.2 ms of
// waiting before the last three.
func ExampleEstimatedTTFT() {
	tell(routing.EstimatedTTFT{LoadAlpha: 0.1})
	// Output: to 1: lowest_estimate
}

// tellBucket prints where a global router sends a prompt of 2,000 tokens: its home is
// short, which is busy, and long holds 20 blocks of it.
func tellBucket(router routing.GlobalRouter) {
	buckets := []routing.BucketView{
		&routingtest.Bucket{
			Is:  routing.Bucket{ID: 0, Name: "short", Max: 4095, MaxSeqs: 16, BlockSize: 64},
			Has: routing.Counts{Instances: 2, Active: 40},
		},
		&routingtest.Bucket{
			Is:     routing.Bucket{ID: 1, Name: "long", Min: 4096, Max: routing.Unlimited, MaxSeqs: 16, BlockSize: 64},
			Has:    routing.Counts{Instances: 2, Active: 8},
			Prefix: 20,
		},
	}
	c, err := router.RouteBucket(&routing.Request{InputTokens: 2000}, buckets)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("to %s: %s\n", buckets[c.Bucket].Bucket().Name, c.Reason)
}

func ExampleStrictInputLength() {
	tellBucket(routing.StrictInputLength{})
	// Output: to short: length_in_range
}

// short: 0 + 1.25 + 1; long: 0.51 + 0.25 + 0.36.
func ExampleBucketScore() {
	tellBucket(routing.BucketScore{Length: 1, Load: 1, Cache: 1})
	tellBucket(routing.BucketScore{Length: 1})
	// Output:
	// to long: lowest_score
	// to short: lowest_score
}

func ExampleSpill() {
	tellBucket(routing.Spill{Load: 1})
	tellBucket(routing.Spill{Load: 1.5})
	// Output:
	// to long: spilled
	// to short: home_bucket
}

func ExampleBucketRoundRobin() {
	router := &routing.BucketRoundRobin{}
	tellBucket(router)
	tellBucket(router)
	// Output:
	// to short: next_in_turn
	// to long: next_in_turn
}

func ExampleBucketLeastLoaded() {
	tellBucket(routing.BucketLeastLoaded{})
	// Output: to long: lowest_load
}

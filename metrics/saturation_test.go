package metrics

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// queued is a stream of rows through servers of one request each, first come
// first served: a request's first token comes when it has been served.
func queued(arrivals []float64, servers int, service func() float64) []request {
	free := make([]float64, servers)
	var requests []request
	for _, at := range arrivals {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		free[first] = max(at, free[first]) + service()
		requests = append(requests, request{arrival: at, tokens: []float64{free[first], free[first] + 500}})
	}
	return requests
}

// poisson is n arrivals at a rate per ms from time at on.
func poisson(random *rand.Rand, n int, rate, at float64) []float64 {
	times := make([]float64, n)
	for i := range times {
		at += random.ExpFloat64() / rate
		times[i] = at
	}
	return times
}

// TestSaturationIsAQueueThatGrowsToTheEnd judges streams of known load. Eight
// servers need 80 ms a request, so a rate of 0.1 per ms is all they can do.
func TestSaturationIsAQueueThatGrowsToTheEnd(t *testing.T) {
	const yes, no, unknown = "yes", "no", "unknown"
	for _, c := range []struct {
		name   string
		stream func(r *rand.Rand) []float64
		want   string
	}{
		{"half the load", func(r *rand.Rand) []float64 { return poisson(r, 3000, 0.05, 0) }, no},
		{"80 % of the load", func(r *rand.Rand) []float64 { return poisson(r, 3000, 0.08, 0) }, no},
		{"20 % too much", func(r *rand.Rand) []float64 { return poisson(r, 3000, 0.12, 0) }, yes},
		{"twice the load", func(r *rand.Rand) []float64 { return poisson(r, 300, 0.2, 0) }, yes},
		{"a thousand times the load", func(r *rand.Rand) []float64 { return poisson(r, 3000, 100, 0) }, yes},
		{"too much from the middle on", func(r *rand.Rand) []float64 {
			return append(poisson(r, 1000, 0.05, 0), poisson(r, 3000, 0.15, 2e4)...)
		}, yes},
		{"a burst at the start that drains", func(r *rand.Rand) []float64 {
			return append(make([]float64, 1000), poisson(r, 1000, 0.05, 0)...)
		}, no},
		{"a burst in the middle that drains", func(r *rand.Rand) []float64 {
			return append(append(poisson(r, 1000, 0.05, 0), poisson(r, 600, 10, 2e4)...), poisson(r, 1000, 0.05, 2.1e4)...)
		}, no},
		{"everything at once", func(*rand.Rand) []float64 { return make([]float64, 1000) }, unknown},
		{"too few to say", func(r *rand.Rand) []float64 { return poisson(r, 99, 0.2, 0) }, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(10) {
				random := rand.New(rand.NewPCG(seed, 0))
				service := func() float64 { return 80 * (0.5 + random.Float64()) }
				s := tallied(t, Setup{}, Run{}, queued(c.stream(random), 8, service)...).Saturation
				got := unknown
				if s.State != nil {
					got = map[bool]string{true: yes, false: no}[*s.State]
				}
				if got != c.want {
					t.Errorf("seed %d: %s (%s), want %s", seed, got, s.Reason, c.want)
				}
			}
		})
	}
}

func TestRequestsThatNeverGetATokenKeepTheQueueLong(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	requests := queued(poisson(random, 1000, 0.2, 0), 8, func() float64 { return 80 })
	for i, q := range requests { // the run is stopped at 2 s
		if q.tokens[0] > 2000 {
			requests[i] = request{arrival: q.arrival, end: 2000, status: Unfinished, reason: TimeCap}
		}
		if q.arrival > 2000 {
			requests = requests[:i]
			break
		}
	}
	s := tallied(t, Setup{}, Run{}, requests...).Saturation
	if s.State == nil || !*s.State || s.Growth < 0.3 || s.Growth > 0.6 {
		t.Errorf("%+v, want yes and a growth of about a half", s)
	}
}

func TestAClosedLoopIsNeverSaturated(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	s := tallied(t, Setup{ClosedLoop: true}, Run{}, queued(poisson(random, 1000, 1, 0), 8, func() float64 { return 80 })...).Saturation
	if s.State != nil || !strings.HasPrefix(s.Reason, "closed loop") {
		t.Errorf("%+v", s)
	}
}

func TestOneSaturatedBucketSaturatesTheFleet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	light, heavy := poisson(random, 500, 0.01, 0), poisson(random, 500, 0.04, 0)
	requests := queued(light, 2, func() float64 { return 80 })
	for _, q := range queued(heavy, 2, func() float64 { return 80 }) {
		q.bucket = 1
		requests = append(requests, q)
	}
	s := tallied(t, Setup{Buckets: []string{"light", "heavy"}}, Run{Uses: []Use{{Bucket: 0}, {Bucket: 1}}}, requests...)
	if !*s.Saturation.State || *s.PerBucket[0].Saturation.State || !strings.HasPrefix(s.Saturation.Reason, "bucket heavy: ") {
		t.Errorf("%+v", s.Saturation)
	}
}

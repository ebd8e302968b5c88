package stats

import (
	"math"
	"slices"
)

// Distribution describes at least one value. Percentile p of n sorted values is the
// one with the index round((n − 1)·p/100), halves away from zero, without
// interpolation; Std is the population's (spec/replay.md 6.3).
type Distribution struct {
	Count   int      `json:"count"`
	Mean    float64  `json:"mean"`
	Std     float64  `json:"std"`
	Min     float64  `json:"min"`
	P25     float64  `json:"p25"`
	Median  float64  `json:"median"`
	P75     float64  `json:"p75"`
	P90     float64  `json:"p90"`
	P95     float64  `json:"p95"`
	P99     float64  `json:"p99"`
	Max     float64  `json:"max"`
	Buckets []Bucket `json:"buckets"`
}

// Bucket counts the values from From on and below To.
type Bucket struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// samples collects the values of a distribution.
type samples struct{ values []float64 }

func (s *samples) add(v float64) { s.values = append(s.values, v) }

// distribution describes the values, nil if there are none. It sorts them.
func (s *samples) distribution() *Distribution {
	v := s.values
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	sum, squares := 0.0, 0.0
	for _, x := range v {
		sum += x
	}
	mean := sum / float64(len(v))
	for _, x := range v {
		squares += float64((x - mean) * (x - mean))
	}
	return &Distribution{
		Count: len(v), Mean: mean, Std: math.Sqrt(squares / float64(len(v))),
		Min: v[0], P25: percentile(v, 25), Median: percentile(v, 50), P75: percentile(v, 75),
		P90: percentile(v, 90), P95: percentile(v, 95), P99: percentile(v, 99), Max: v[len(v)-1],
		Buckets: buckets(v),
	}
}

// percentile is percentile p of sorted values.
func percentile(v []float64, p float64) float64 {
	return v[int(math.Round(float64(len(v)-1)*p/100))]
}

// buckets counts sorted values between the edges 0, 1, 2, 5, 10, 20, 50, …, from the
// first bucket that is not empty to the last.
func buckets(v []float64) []Bucket {
	var all []Bucket
	from, decade := 0.0, 1.0
	for i := 0; len(v) > 0; i++ {
		to := [...]float64{1, 2, 5}[i%3] * decade
		if i%3 == 2 {
			decade *= 10
		}
		n, _ := slices.BinarySearch(v, to)
		if n > 0 || len(all) > 0 {
			all = append(all, Bucket{from, to, n})
		}
		from, v = to, v[n:]
	}
	return all
}

package column

import "math"

// Rank is the rank of a percentile among n > 0 sorted samples: (n − 1)·percent/100,
// rounded half away from zero. A percentile is always one of the samples, nothing
// is interpolated (spec/replay.md 6.3).
func Rank(n int64, percent float64) int64 {
	return int64(math.Round(float64(n-1) * percent / 100))
}

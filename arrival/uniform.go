package arrival

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

func init() {
	distributions["uniform"] = kind[DistributionSettings, Distribution]{
		about: "whole numbers from min to max, or within ± range_ratio of the mean",
		takes: []string{"min", "max", "mean", "range_ratio"},
		make:  newUniform,
	}
}

func newUniform(s DistributionSettings, p *setting.Problems) Distribution {
	var low, high float64
	switch bounds, ratio := s.Min != nil && s.Max != nil, s.Mean != nil && s.RangeRatio != nil; {
	case bounds && s.Mean == nil && s.RangeRatio == nil:
		low, high = *s.Min, *s.Max
		p.Check(low >= 0, "min", low, "at least 0")
		p.Check(high >= low, "max", high, "at least min")
	case ratio && s.Min == nil && s.Max == nil:
		mean, ratio := *s.Mean, *s.RangeRatio
		p.Check(mean >= 0, "mean", mean, "at least 0")
		p.Check(ratio >= 0 && ratio <= 1, "range_ratio", ratio, "a number from 0 to 1")
		low, high = float64(mean*(1-ratio)), float64(mean*(1+ratio))
	default:
		p.Check(false, "distribution", s.Distribution, "min and max, or mean and range_ratio")
	}
	p.Check(high <= math.MaxInt32, "distribution", s.Distribution, "numbers below 2^31")
	return Uniform{Min: int32(math.Round(low)), Max: int32(math.Round(min(high, math.MaxInt32)))}
}

// Uniform draws each whole number from Min to Max, both included, equally often:
//
//	draw = Min + below(Max − Min + 1)
//
// Uniform{Min: 1, Max: 6} prints, with one seed, 5 1 1 1.
type Uniform struct{ Min, Max int32 }

// Draw implements [Distribution].
func (u Uniform) Draw(r *Rand) float64 {
	return float64(u.Min) + float64(r.Below(uint64(int64(u.Max)-int64(u.Min))+1))
}

// Expected is (Min + Max)/2.
func (u Uniform) Expected() float64 { return (float64(u.Min) + float64(u.Max)) / 2 }

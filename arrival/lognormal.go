package arrival

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

func init() {
	distributions["lognormal"] = kind[DistributionSettings, Distribution]{
		about: "lognormal with mean and std of the numbers themselves, clipped to min and max",
		needs: []string{"mean", "std"},
		takes: []string{"min", "max"},
		make: func(s DistributionSettings, p *setting.Problems) Distribution {
			mean, std := *s.Mean, *s.StdDev
			p.Check(mean > 0, "mean", mean, "above 0")
			p.Check(std >= 0 && std <= 1e6*mean, "std", std, "from 0 to a million times the mean")
			if p.Err() != nil {
				return nil
			}
			return clip(NewLogNormal(mean, std), s, p)
		},
	}
}

// LogNormal has a normal logarithm: many short, few very long ones, as the prompts
// and answers of real users.
//
//	draw = e^(μ + σ·Z)    Z standard normal
//
// NewLogNormal(1024, 512) prints, with one seed and rounded,
// 856 1177 924 1543.
type LogNormal struct{ Mu, Sigma float64 }

// NewLogNormal is the lognormal distribution with a mean, above 0, and a standard
// deviation of its draws (not of their logarithms):
//
//	σ² = ln(1 + (std/mean)²)    μ = ln(mean) − σ²/2
func NewLogNormal(mean, stdDev float64) LogNormal {
	cv := stdDev / mean
	variance := ln(1 + float64(cv*cv))
	return LogNormal{Mu: ln(mean) - float64(variance/2), Sigma: math.Sqrt(variance)}
}

// Draw implements [Distribution].
func (l LogNormal) Draw(r *Rand) float64 {
	return exp(l.Mu + float64(l.Sigma*r.Normal()))
}

// Expected is e^(μ + σ²/2).
func (l LogNormal) Expected() float64 {
	return exp(l.Mu + float64(l.Sigma*l.Sigma/2))
}

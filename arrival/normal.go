package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	distributions["normal"] = kind[DistributionSettings, Distribution]{
		about: "normal with mean and std, clipped to min and max",
		needs: []string{"mean", "std"},
		takes: []string{"min", "max"},
		make: func(s DistributionSettings, p *setting.Problems) Distribution {
			p.Check(*s.Mean >= 0, "mean", *s.Mean, "at least 0")
			p.Check(*s.StdDev >= 0, "std", *s.StdDev, "at least 0")
			return clip(Normal{Mean: *s.Mean, StdDev: *s.StdDev}, s, p)
		},
	}
}

// Normal is the normal distribution. Far from its mean it has negative draws, which
// rounding makes 1 token or a pause of 0.
//
//	draw = m + σ·Z    m = Mean, σ = StdDev, at least 0; Z standard normal
//
// Normal{Mean: 1024, StdDev: 100} prints, with one seed and rounded,
// 1010 1077 1026 1134.
type Normal struct{ Mean, StdDev float64 }

// Draw implements [Distribution].
func (n Normal) Draw(r *Rand) float64 { return n.Mean + float64(n.StdDev*r.Normal()) }

// Expected is m.
func (n Normal) Expected() float64 { return n.Mean }

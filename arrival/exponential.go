package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	distributions["exponential"] = kind[DistributionSettings, Distribution]{
		about: "exponential with a mean, clipped to min and max",
		needs: []string{"mean"},
		takes: []string{"min", "max"},
		make: func(s DistributionSettings, p *setting.Problems) Distribution {
			p.Check(*s.Mean >= 0, "mean", *s.Mean, "at least 0")
			return clip(Exponential{Mean: *s.Mean}, s, p)
		},
	}
}

// Exponential is a pause whose end is always equally near.
//
//	draw = −m·ln(1 − U)    m = Mean, at least 0; U uniform in [0, 1)
//
// Exponential{Mean: 5000} prints, with one seed and rounded,
// 6496 45 580 481.
type Exponential struct{ Mean float64 }

// Draw implements [Distribution].
func (e Exponential) Draw(r *Rand) float64 { return float64(e.Mean * r.Exponential()) }

// Expected is m.
func (e Exponential) Expected() float64 { return e.Mean }

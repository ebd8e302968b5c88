package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	distributions["fixed"] = kind[DistributionSettings, Distribution]{
		about: "always the same",
		needs: []string{"value"},
		make: func(s DistributionSettings, p *setting.Problems) Distribution {
			p.Check(*s.Value >= 0, "value", *s.Value, "at least 0")
			return Fixed{Value: *s.Value}
		},
	}
}

// Fixed is always the same:
//
//	draw = Value
//
// Fixed{Value: 128} prints 128 128 128 128.
type Fixed struct{ Value float64 }

// Draw implements [Distribution].
func (f Fixed) Draw(*Rand) float64 { return f.Value }

// Expected is the value.
func (f Fixed) Expected() float64 { return f.Value }

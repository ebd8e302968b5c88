package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	processes["constant"] = kind[ProcessSettings, Process]{
		about: "evenly spaced",
		needs: []string{"rate"},
		make: func(s ProcessSettings, p *setting.Problems) Process {
			return Constant{PerSecond: rate(s, p)}
		},
	}
}

// Constant is evenly spaced:
//
//	arrival n = n·1000/q ms    q = PerSecond, above 0
//
// Constant{PerSecond: 10} prints 0 100 200 300. Times are not sums of gaps, so a
// gap that is no double (q = 3) does not drift.
type Constant struct{ PerSecond float64 }

// Next implements [Process].
func (c Constant) Next(n int64, _ float64, _ *Rand) float64 {
	return float64(n) * 1000 / c.PerSecond
}

// Rate is q.
func (c Constant) Rate() float64 { return c.PerSecond }

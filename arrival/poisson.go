package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	processes["poisson"] = kind[ProcessSettings, Process]{
		about: "independent arrivals: exponential gaps",
		needs: []string{"rate"},
		make: func(s ProcessSettings, p *setting.Problems) Process {
			return Poisson{PerSecond: rate(s, p)}
		},
	}
}

// Poisson is many users who do not know of one another: the number of arrivals in a
// stretch of time has a Poisson distribution, the gaps are exponential.
//
//	arrival n = arrival n−1 − (1000/q)·ln(1 − U) ms    q = PerSecond, above 0; U uniform in [0, 1)
//
// Poisson{PerSecond: 10} prints, with one seed, 0 129.915 130.823 142.425.
type Poisson struct{ PerSecond float64 }

// Next implements [Process].
func (p Poisson) Next(_ int64, previousMs float64, r *Rand) float64 {
	return previousMs + float64(1000/p.PerSecond*r.Exponential())
}

// Rate is q.
func (p Poisson) Rate() float64 { return p.PerSecond }

package arrival

import "github.com/reprise-sim/reprise/setting"

func init() {
	processes["gamma"] = kind[ProcessSettings, Process]{
		about: "gamma gaps: from bursty (cv above 1) over poisson (1) to even (0)",
		needs: []string{"rate"},
		takes: []string{"smoothness", "cv"},
		make:  newGamma,
	}
}

func newGamma(s ProcessSettings, p *setting.Problems) Process {
	g := Gamma{PerSecond: rate(s, p)}
	switch {
	case s.Smoothness != nil && s.CV != nil:
		p.Check(false, "cv", *s.CV, "nothing beside smoothness, which is 1/cv²")
	case s.Smoothness != nil:
		g.Smoothness = *s.Smoothness
		p.Check(isShape(g.Smoothness), "smoothness", g.Smoothness, "a number from 1e-6 to 1e6")
	case s.CV != nil:
		g.Smoothness = 1 / *s.CV / *s.CV
		p.Check(isShape(g.Smoothness), "cv", *s.CV, "a number from 0.001 to 1000")
	default:
		p.Check(false, "smoothness", "not set", "a number, or cv instead")
	}
	return g
}

// isShape bounds the shape of a gamma distribution to where its draws mean
// something: beyond, gaps are all 0 or all equal in double precision.
func isShape(s float64) bool { return s >= 1e-6 && s <= 1e6 }

// Gamma has gaps of a gamma distribution with the mean of a rate and any
// burstiness:
//
//	arrival n = arrival n−1 + Gamma(shape s, scale (1000/q)/s) ms    q = PerSecond, s = Smoothness, both above 0
//
// The coefficient of variation of the gaps (standard deviation over mean) is 1/√s:
// s = 1 is [Poisson], below it arrivals come in clumps, above it they even out
// towards [Constant]. Gamma{PerSecond: 10, Smoothness: 100} prints, with one seed,
// 0 98.256 217.68 328.775.
type Gamma struct{ PerSecond, Smoothness float64 }

// Next implements [Process].
func (g Gamma) Next(_ int64, previousMs float64, r *Rand) float64 {
	return previousMs + float64(1000/g.PerSecond/g.Smoothness*r.Gamma(g.Smoothness))
}

// Rate is q.
func (g Gamma) Rate() float64 { return g.PerSecond }

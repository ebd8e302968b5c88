package arrival

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// ProcessSettings choose a [Process] and its parameters.
type ProcessSettings struct {
	Process    string   `yaml:"process" json:"process" doc:"how arrivals are spaced: burst, constant, poisson, gamma"`
	Rate       *float64 `yaml:"rate,omitempty" json:"rate,omitempty" doc:"mean arrivals per second; not for burst"`
	Smoothness *float64 `yaml:"smoothness,omitempty" json:"smoothness,omitempty" doc:"gamma: shape of the gaps, 1/cv²; 1 is poisson"`
	CV         *float64 `yaml:"cv,omitempty" json:"cv,omitempty" doc:"gamma: coefficient of variation of the gaps, instead of smoothness"`
}

// DistributionSettings choose a [Distribution] and its parameters.
type DistributionSettings struct {
	Distribution string    `yaml:"distribution" json:"distribution" doc:"fixed, uniform, normal, lognormal, exponential, empirical"`
	Value        *float64  `yaml:"value,omitempty" json:"value,omitempty" doc:"fixed: the number"`
	Mean         *float64  `yaml:"mean,omitempty" json:"mean,omitempty" doc:"normal, lognormal, exponential: mean; uniform: middle"`
	StdDev       *float64  `yaml:"std,omitempty" json:"std,omitempty" doc:"normal, lognormal: standard deviation"`
	RangeRatio   *float64  `yaml:"range_ratio,omitempty" json:"range_ratio,omitempty" doc:"uniform: half the width, as a fraction of the mean"`
	Min          *float64  `yaml:"min,omitempty" json:"min,omitempty" doc:"smallest number; draws below become it"`
	Max          *float64  `yaml:"max,omitempty" json:"max,omitempty" doc:"largest number; draws above become it"`
	Values       []float64 `yaml:"values,omitempty" json:"values,omitempty" doc:"empirical: the numbers"`
	Weights      []float64 `yaml:"weights,omitempty" json:"weights,omitempty" doc:"empirical: how often each comes; none: all equally often"`
}

// kind is a policy that settings can name.
type kind[S, P any] struct {
	about string
	needs []string // parameters that must be set
	takes []string // parameters that may be set
	// make notes what else is wrong and makes the policy; all of needs are set.
	make func(S, *setting.Problems) P
}

// processes and distributions are the policies by name. Only init functions write
// them.
var (
	processes     = map[string]kind[ProcessSettings, Process]{}
	distributions = map[string]kind[DistributionSettings, Distribution]{}
)

// Processes lists the processes by name, Distributions the distributions, sorted.
func Processes() []string     { return slices.Sorted(maps.Keys(processes)) }
func Distributions() []string { return slices.Sorted(maps.Keys(distributions)) }

// About is one line on the process or distribution of that name, "" if there is
// none.
func About(name string) string {
	if k, ok := processes[name]; ok {
		return k.about
	}
	return distributions[name].about
}

// Validate reports every wrong setting as a [setting.Error].
func (s ProcessSettings) Validate() error {
	_, err := NewProcess(s)
	return err
}

// Validate reports every wrong setting as a [setting.Error].
func (s DistributionSettings) Validate() error {
	_, err := NewDistribution(s)
	return err
}

// NewProcess makes the process that s describes.
func NewProcess(s ProcessSettings) (Process, error) {
	return build(processes, "process", s.Process, s, []parameter{
		number("rate", s.Rate),
		number("smoothness", s.Smoothness),
		number("cv", s.CV),
	})
}

// NewDistribution makes the distribution that s describes.
func NewDistribution(s DistributionSettings) (Distribution, error) {
	return build(distributions, "distribution", s.Distribution, s, []parameter{
		number("value", s.Value),
		number("mean", s.Mean),
		number("std", s.StdDev),
		number("range_ratio", s.RangeRatio),
		number("min", s.Min),
		number("max", s.Max),
		{key: "values", set: s.Values != nil},
		{key: "weights", set: s.Weights != nil},
	})
}

// parameter is a setting that some policies have.
type parameter struct {
	key    string
	set    bool
	number float64 // 0 for lists
}

func number(key string, v *float64) parameter {
	if v == nil {
		return parameter{key: key}
	}
	return parameter{key, true, *v}
}

// build makes the policy with a name from its settings after checking that exactly
// the parameters are set that it has.
func build[S, P any](kinds map[string]kind[S, P], what, name string, s S, parameters []parameter) (P, error) {
	var p setting.Problems
	var none P
	k, known := kinds[name]
	p.Check(known, what, name, "one of "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	if !known {
		return none, p.Err()
	}
	for _, a := range parameters {
		needed := slices.Contains(k.needs, a.key)
		switch {
		case a.set && !needed && !slices.Contains(k.takes, a.key):
			p.Check(false, a.key, "set", "nothing: "+name+" does not use it")
		case !a.set && needed:
			p.Check(false, a.key, "not set", "a value: "+name+" needs it")
		case math.IsNaN(a.number) || math.IsInf(a.number, 0):
			p.Check(false, a.key, a.number, "a finite number")
		}
	}
	if err := p.Err(); err != nil {
		return none, err
	}
	policy := k.make(s, &p)
	if err := p.Err(); err != nil {
		return none, err
	}
	return policy, nil
}

const wantNotNegative = "a finite number, at least 0"

func notNegative(v float64) bool { return v >= 0 && v <= math.MaxFloat64 }

// rate is the checked rate of a process.
func rate(s ProcessSettings, p *setting.Problems) float64 {
	p.Check(*s.Rate >= 1e-9 && *s.Rate <= 1e9, "rate", *s.Rate, "arrivals per second, from 1e-9 to 1e9")
	return *s.Rate
}

// clip applies min and max, if they are set.
func clip(d Distribution, s DistributionSettings, p *setting.Problems) Distribution {
	if s.Min == nil && s.Max == nil {
		return d
	}
	c := Clipped{Of: d, Min: math.Inf(-1), Max: math.Inf(1)}
	if s.Min != nil {
		c.Min = *s.Min
		p.Check(c.Min >= 0, "min", c.Min, "at least 0")
	}
	if s.Max != nil {
		c.Max = *s.Max
		p.Check(c.Max >= max(c.Min, 0), "max", c.Max, "at least min and at least 0")
	}
	return c
}

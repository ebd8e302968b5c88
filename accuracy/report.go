package accuracy

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/latency/fit"
)

// Group is the outcomes that share what names it, and their errors. Figures of dense
// models and of models with experts never meet in a group, nor do levels of trust.
type Group struct {
	Metric  string     `json:"metric"`
	Source  string     `json:"source"`
	Engine  string     `json:"engine,omitempty"`
	Model   string     `json:"model,omitempty"`
	GPU     string     `json:"gpu,omitempty"`
	Experts bool       `json:"experts"`
	Trust   string     `json:"trust"`
	Errors  fit.Errors `json:"errors"`
	// Worst are the figures that are furthest off, at most three.
	Worst []Miss `json:"worst,omitempty"`
	// WaveMs and SteadyMs are medians of the parts of predicted times to first token:
	// of requests that all started at once, and of the others.
	WaveMs   float64 `json:"predicted_wave_ms,omitempty"`
	SteadyMs float64 `json:"predicted_steady_ms,omitempty"`

	outcomes []*Outcome
}

// Miss names one figure and its error, %.
type Miss struct {
	ID    string  `json:"id"`
	Error float64 `json:"error"`
}

// LeftOut counts figures that were not predicted for one reason.
type LeftOut struct {
	Reason  string `json:"reason"`
	Figures int    `json:"figures"`
}

// Report is what a comparison says.
type Report struct {
	// Totals are by metric, kind of model, trust and source; Groups also by engine, model
	// and GPU.
	Totals  []Group   `json:"totals"`
	Groups  []Group   `json:"groups"`
	LeftOut []LeftOut `json:"left_out"`
}

// Summarize sums up outcomes.
func Summarize(outcomes []Outcome) *Report {
	r := &Report{LeftOut: leftOut(outcomes)}
	r.Totals = sumUp(outcomes, func(o *Outcome) Group {
		return Group{Metric: o.Value.Name(), Source: o.Case.Source, Experts: o.Experts, Trust: o.Case.Trust}
	})
	r.Groups = sumUp(outcomes, func(o *Outcome) Group {
		return Group{
			Metric: o.Value.Name(), Source: o.Case.Source, Engine: o.Case.Engine, Model: o.Case.Model, GPU: o.Case.Hardware,
			Experts: o.Experts, Trust: o.Case.Trust,
		}
	})
	return r
}

// sumUp makes groups, sorted by their names.
func sumUp(outcomes []Outcome, name func(*Outcome) Group) []Group {
	var groups []*Group
	find := func(g Group) *Group {
		for _, have := range groups {
			if have.compare(&g) == 0 {
				return have
			}
		}
		groups = append(groups, &g)
		return &g
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.LeftOut == "" {
			g := find(name(o))
			g.outcomes = append(g.outcomes, o)
		}
	}
	slices.SortFunc(groups, (*Group).compare)
	list := make([]Group, len(groups))
	for i, g := range groups {
		g.close()
		list[i] = *g
	}
	return list
}

// compare orders groups: metrics, then dense models in front of those with experts.
func (g *Group) compare(o *Group) int {
	experts := func(g *Group) int {
		if g.Experts {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(g.Metric, o.Metric), cmp.Compare(experts(g), experts(o)), cmp.Compare(g.Trust, o.Trust),
		cmp.Compare(g.Source, o.Source), cmp.Compare(g.Engine, o.Engine), cmp.Compare(g.Model, o.Model), cmp.Compare(g.GPU, o.GPU))
}

// close computes the errors of a group.
func (g *Group) close() {
	var errors, wave, steady []float64
	for _, o := range g.outcomes {
		errors = append(errors, o.Error())
		if o.WaveMs > 0 {
			wave, steady = append(wave, o.WaveMs), append(steady, o.SteadyMs)
		}
	}
	g.Errors = fit.SumUp(errors)
	if o := g.outcomes[0]; o.Value.Metric == "ttft" && len(wave) > 0 {
		g.WaveMs, g.SteadyMs = fit.Median(wave), fit.Median(steady)
	}
	worst := slices.Clone(g.outcomes)
	slices.SortStableFunc(worst, func(a, b *Outcome) int { return cmp.Compare(math.Abs(b.Error()), math.Abs(a.Error())) })
	for _, o := range worst[:min(3, len(worst))] {
		g.Worst = append(g.Worst, Miss{o.Value.ID, 100 * o.Error()})
	}
}

// leftOut counts what was not predicted.
func leftOut(outcomes []Outcome) []LeftOut {
	counts := map[string]int{}
	for i := range outcomes {
		if why := outcomes[i].LeftOut; why != "" {
			counts[why]++
		}
	}
	var list []LeftOut
	for why, n := range counts {
		list = append(list, LeftOut{why, n})
	}
	slices.SortFunc(list, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(b.Figures, a.Figures), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

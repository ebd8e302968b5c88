package accuracy

import (
	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/fit"
	"github.com/reprise-sim/reprise/latency/roofline"
)

// Features are the parts of the time per output token of a served case as the
// uncalibrated model says, beside what was measured: what a calibration is fitted to.
// It is false if the case has no such figure or cannot be run.
//
// The passes of a closed loop follow one another whatever they cost, so the time per
// token is the sum of its parts also when these are weighed; of an open loop that is
// nearly so.
func Features(c *Case) (fit.Sample, roofline.Setup, bool) {
	var sample fit.Sample
	for _, v := range c.Values {
		if v.Name() == "tpot mean" || v.Name() == "itl mean" {
			sample.Value = v.Value
		}
	}
	if sample.Value == 0 || c.Trust == "C" || !c.closed() && !c.open() {
		return sample, roofline.Setup{}, false
	}
	s, err := Deploy(c)
	if err != nil {
		return sample, s, false
	}
	m, err := roofline.New(s)
	if err != nil {
		return sample, s, false
	}
	priced, err := latency.Scale(m, 1, 1)
	if err != nil {
		return sample, s, false
	}
	parts := &perToken{model: m}
	var served *Served
	if c.closed() {
		served, err = closedLoop(c, &s, priced, parts)
	} else {
		served, err = openLoop(c, &s, priced, parts)
	}
	if err != nil {
		return sample, s, false
	}
	sample.Parts = parts.scaled(Mean(served.TPOT))
	return sample, s, true
}

// perToken sums up the parts of passes, each as often as it has decodes.
type perToken struct {
	model *roofline.Model
	sum   roofline.Parts
}

// Passes implements [cluster.PassObserver]: a stretch counts as its middle pass.
func (t *perToken) Passes(_ *cluster.Instance, first *latency.Pass, _ float64, ends []float64) {
	if first.DecodeSeqs == 0 {
		return
	}
	middle := *first
	middle.Advance(int64(len(ends) / 2))
	parts := t.model.Parts(&middle)
	for g := range parts {
		t.sum[g] += float64(parts[g] * float64(len(ends)) * float64(first.DecodeSeqs))
	}
}

// scaled is the parts of one token whose time is given.
func (t *perToken) scaled(tokenMs float64) []float64 {
	parts := make([]float64, roofline.Groups)
	for g := range parts {
		parts[g] = t.sum[g] / t.sum.Ms() * tokenMs
	}
	return parts
}

package fit

import (
	"errors"
	"math"

	"github.com/reprise-sim/reprise/latency"
)

// Base is what a fit weighs.
type Base struct {
	Name  string
	Parts []string
	// Of are the parts of a pass.
	Of    func(p *latency.Pass) []float64
	Prior Prior
}

// SumsBase is the base of devices of which nothing is known: the prior is a first fit
// without one, so only the data speak.
func SumsBase(log []Logged) (Base, error) {
	b := Base{Name: "sums", Parts: SumParts, Of: SumsOf}
	n := len(SumParts)
	b.Prior = Prior{Weights: make([]float64, n), Low: make([]float64, n), High: make([]float64, n), Strength: 1e-9}
	for j := range n {
		b.Prior.High[j] = math.MaxFloat64
	}
	first, err := Solve(b.samples(log), b.Prior)
	if err != nil {
		return b, err
	}
	b.Prior.Weights, b.Prior.Strength = first, 1e-3
	return b, nil
}

// samples are the passes of a log as a fit sees them.
func (b *Base) samples(log []Logged) []Sample {
	list := make([]Sample, len(log))
	for i := range log {
		list[i] = Sample{Parts: b.Of(&log[i].Pass), Value: log[i].Ms()}
	}
	return list
}

// blocks is the number of blocks of time of the cross-validation, perKind how many
// passes of one kind count at most (spec/latency.md 4.4).
const (
	blocks  = 5
	perKind = 200
)

// PassLog fits a base to a log of passes.
func PassLog(log []Logged, base func([]Logged) (Base, error)) (*Card, error) {
	kept, dropped := Clean(log, perKind)
	if len(kept) < 2*blocks {
		return nil, errors.New("a pass log of so few useful passes cannot be fitted")
	}
	b, err := base(kept)
	if err != nil {
		return nil, err
	}
	samples := b.samples(kept)
	weights, err := Solve(samples, b.Prior)
	if err != nil {
		return nil, err
	}
	held, err := CrossValidate(samples, Blocks(len(samples), blocks), func(rest []Sample) ([]float64, error) { return Solve(rest, b.Prior) })
	if err != nil {
		return nil, err
	}
	var own []float64
	for i := range samples {
		own = append(own, samples[i].Error(weights))
	}
	return &Card{
		Schema: CardSchema, Version: CardVersion, Base: b.Name, Parts: b.Parts, Weights: weights, Priors: b.Prior.Weights,
		Passes: len(kept), Dropped: dropped, Domain: domain(kept), HeldOut: heldOut(kept, held), InSample: SumUp(own),
		Condition: condition(samples, weights),
	}, nil
}

// heldOut sums up errors by kind of pass.
func heldOut(log []Logged, errors []float64) Held {
	var decode, prefill, mixed []float64
	for i := range log {
		switch p := &log[i].Pass; {
		case p.PrefillNew == 0:
			decode = append(decode, errors[i])
		case p.DecodeNew == 0:
			prefill = append(prefill, errors[i])
		default:
			mixed = append(mixed, errors[i])
		}
	}
	return Held{All: SumUp(errors), Decode: SumUp(decode), Prefill: SumUp(prefill), Mixed: SumUp(mixed)}
}

// condition is the ratio of the largest and the smallest mean share of a part that
// has any.
func condition(samples []Sample, weights []float64) float64 {
	least, most := math.Inf(1), 0.0
	for j, w := range weights {
		share := 0.0
		for i := range samples {
			share += w * samples[i].Parts[j] / samples[i].Value / float64(len(samples))
		}
		if share > 0 {
			least, most = min(least, share), max(most, share)
		}
	}
	if most == 0 {
		return 1
	}
	return most / least
}

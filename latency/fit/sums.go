package fit

import (
	"fmt"

	"github.com/reprise-sim/reprise/latency"
)

// SumParts are the parts of the model that is linear in the sums of a pass, each with
// weight in ms.
var SumParts = []string{"pass", "prompt-token", "prompt-pair", "decode", "context-token"}

// SumsOf are the sums of a pass that SumParts names.
func SumsOf(p *latency.Pass) []float64 {
	return []float64{1, float64(p.PrefillNew), float64(p.PrefillPairs), float64(p.DecodeNew), float64(p.DecodeContext)}
}

// Sums is a model that is linear in the sums of a pass: for engines and devices of
// which nothing is known but a log (spec/latency.md 4.3, model poly).
//
//	ms = w₀ + w₁·prompt tokens + w₂·pairs + w₃·decodes + w₄·tokens they attend to
type Sums struct {
	Weights []float64 // of SumParts
	Title   string    // for Name
	Known   string    // for Predicts
}

// Name says where the weights are from.
func (s *Sums) Name() string { return s.Title }

// Predicts implements [latency.Predictor].
func (s *Sums) Predicts() string { return s.Known }

// Needs is Sums.
func (*Sums) Needs() latency.Detail { return latency.Sums }

// Cost implements [latency.Model].
func (s *Sums) Cost(p *latency.Pass) (latency.Duration, error) {
	if p.PrefillNew == 0 {
		return latency.Duration{DecodeMs: s.ms(p)}, nil
	}
	return latency.Duration{PrefillMs: s.ms(p)}, nil
}

// Decodes implements [latency.Model].
func (s *Sums) Decodes(first *latency.Pass, dst []float64) error {
	p := *first
	for i := range dst {
		dst[i] = s.ms(&p)
		p.Advance(1)
	}
	return nil
}

// ms is the price of a pass; one that computes nothing costs nothing.
func (s *Sums) ms(p *latency.Pass) float64 {
	if p.PrefillNew+p.DecodeNew == 0 {
		return 0
	}
	w := s.Weights
	return w[0] + float64(w[1]*float64(p.PrefillNew)) + float64(w[2]*float64(p.PrefillPairs)) +
		float64(w[3]*float64(p.DecodeNew)) + float64(w[4]*float64(p.DecodeContext))
}

// String is the formula with its weights.
func (s *Sums) String() string {
	return fmt.Sprintf("%.4g ms + %.4g per prompt token + %.4g per pair + %.4g per decode + %.4g per context token",
		s.Weights[0], s.Weights[1], s.Weights[2], s.Weights[3], s.Weights[4])
}

package latency

import "github.com/reprise-sim/reprise/setting"

func init() {
	Register("polynomial", Kind{
		About: "two polynomials: of the new prompt tokens, of the use of the KV pool",
		Check: func(Settings, *setting.Problems) {},
		New:   func(Settings, Deployment) (Model, error) { return Polynomial{}, nil },
	})
}

// Polynomial is the built-in pair of polynomials of the reference simulator
// (spec/engine.md 3.1).
//
//	prefill(t) = 4.209989e-07·t² + 1.518344e-02·t + 1.650142e+01 ms    t = batch × mean new tokens, above 0
//	decode(p)  = −25.74·p² + 54.01·p + 5.74 ms, at least 1 ms          p = context tokens / pool tokens, at most 1
//
// How many requests decode does not matter, only how much of the pool they read.
//
//	1 prompt of 512 tokens                      24.385704 ms
//	decodes over half of the pool, all of it    26.31 ms, 34.01 ms
type Polynomial struct{}

// Name prints as "polynomial".
func (Polynomial) Name() string { return "polynomial" }

// Needs is Sums.
func (Polynomial) Needs() Detail { return Sums }

// Cost implements [Model].
func (Polynomial) Cost(p *Pass) (Duration, error) {
	var d Duration
	if n := p.meanNew(); n > 0 {
		d.PrefillMs = prefillPolynomial(float64(p.PrefillSeqs * n))
	}
	if p.DecodeSeqs > 0 {
		d.DecodeMs = decodePolynomial(poolShare(p.DecodeContext, p.PoolTokens))
	}
	return d, nil
}

// Decodes implements [Model].
func (Polynomial) Decodes(first *Pass, dst []float64) error {
	if first.DecodeSeqs <= 0 {
		clear(dst)
		return nil
	}
	context := first.DecodeContext
	for i := range dst {
		dst[i] = decodePolynomial(poolShare(context, first.PoolTokens))
		context += first.DecodeNew
	}
	return nil
}

// poolShare is min(context/pool, 1), 1 for an empty pool. It stays a division: a
// product with 1/pool has other last bits (spec/fast-path.md 7).
func poolShare(context, pool int64) float64 {
	if pool <= 0 {
		return 1
	}
	return min(float64(context)/float64(pool), 1)
}

// prefillPolynomial is evaluated left to right, every product rounded before it
// is added.
func prefillPolynomial(t float64) float64 {
	return float64(4.209989e-07*float64(t*t)) + float64(1.518344e-02*t) + 1.650142e+01
}

func decodePolynomial(p float64) float64 {
	return max(float64(-25.74*float64(p*p))+float64(54.01*p)+5.74, 1)
}

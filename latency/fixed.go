package latency

import (
	"fmt"

	"github.com/reprise-sim/reprise/setting"
)

func init() {
	Register("fixed", Kind{
		About: "one price for prefill and one for decode, whatever the batch",
		Keys:  []string{"prefill_ms", "decode_ms"},
		Check: func(s Settings, p *setting.Problems) {
			checkPrice(p, "prefill_ms", s.PrefillMs)
			checkPrice(p, "decode_ms", s.DecodeMs)
		},
		New: func(s Settings, _ Deployment) (Model, error) {
			return Fixed{PrefillMs: *s.PrefillMs, DecodeMs: *s.DecodeMs}, nil
		},
	})
}

// checkPrice notes a problem unless the setting is there and can be a price.
func checkPrice(p *setting.Problems, key string, ms *float64) {
	if ms == nil {
		p.Check(false, key, "not set", "a price in ms: model fixed needs it")
		return
	}
	p.Check(isTime(*ms), key, *ms, wantTime)
}

// Fixed charges the same for every pass (spec/engine.md 3.2): PrefillMs if there
// are new prompt tokens, plus DecodeMs if there are decodes.
//
//	Fixed{PrefillMs: 7, DecodeMs: 3}
//	  2 prompts of 64 tokens             7 ms
//	  the same with 5 decodes beside     7 ms + 3 ms
type Fixed struct{ PrefillMs, DecodeMs float64 }

// Name prints as "fixed prefill 7 ms, decode 3 ms".
func (f Fixed) Name() string {
	return fmt.Sprintf("fixed prefill %v ms, decode %v ms", f.PrefillMs, f.DecodeMs)
}

// Needs is Sums.
func (Fixed) Needs() Detail { return Sums }

// Cost implements [Model].
func (f Fixed) Cost(p *Pass) (Duration, error) {
	var d Duration
	if p.meanNew() > 0 {
		d.PrefillMs = f.PrefillMs
	}
	if p.DecodeSeqs > 0 {
		d.DecodeMs = f.DecodeMs
	}
	return d, nil
}

// Decodes implements [Model].
func (f Fixed) Decodes(first *Pass, dst []float64) error {
	var ms float64
	if first.DecodeSeqs > 0 {
		ms = f.DecodeMs
	}
	for i := range dst {
		dst[i] = ms
	}
	return nil
}

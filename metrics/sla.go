package metrics

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

// SLA bounds the latencies of a request: the section `sla` of a configuration
// (DESIGN.md 6). A bound that is nil does not exist.
type SLA struct {
	TTFTMs *float64 `yaml:"ttft_ms" json:"ttft_ms,omitempty" doc:"most ms from arrival to the first token"`
	ITLMs  *float64 `yaml:"itl_ms" json:"itl_ms,omitempty" doc:"most ms between tokens, on average over a request"`
	E2EMs  *float64 `yaml:"e2e_ms" json:"e2e_ms,omitempty" doc:"most ms from arrival to the last token; excludes the other two"`
}

// Validate says everything that is wrong, as setting errors.
func (s *SLA) Validate() error {
	var p setting.Problems
	for _, b := range []struct {
		key   string
		bound *float64
	}{{"ttft_ms", s.TTFTMs}, {"itl_ms", s.ITLMs}, {"e2e_ms", s.E2EMs}} {
		if b.bound != nil {
			p.Check(*b.bound > 0 && *b.bound <= math.MaxFloat64, b.key, *b.bound, "a finite number above 0")
		}
	}
	if s.E2EMs != nil {
		p.Check(s.TTFTMs == nil && s.ITLMs == nil, "e2e_ms", *s.E2EMs, "no ttft_ms or itl_ms beside it")
	}
	p.Check(s.TTFTMs != nil || s.ITLMs != nil || s.E2EMs != nil, "sla", "no bound", "ttft_ms, itl_ms or both, or e2e_ms")
	return p.Err()
}

// Good is whether a completed request keeps every bound; at the bound is good
// (spec/replay.md 6.2). One without tokens is good only if nothing but its
// end-to-end time is asked for, which then ends with the request.
func (s *SLA) Good(r *Row) bool {
	if r.OutputTokens == 0 {
		return s.E2EMs != nil && r.EndMs-r.ArrivalMs <= *s.E2EMs
	}
	ttft, e2e := r.TTFTMs(), r.E2EMs()
	switch {
	case s.TTFTMs != nil && !(ttft <= *s.TTFTMs): // one that nobody knows is not kept
		return false
	case s.ITLMs != nil && r.OutputTokens > 1 && !((e2e-ttft)/float64(r.OutputTokens-1) <= *s.ITLMs):
		return false
	case s.E2EMs != nil && e2e > *s.E2EMs:
		return false
	}
	return true
}

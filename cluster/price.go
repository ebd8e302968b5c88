package cluster

import "github.com/reprise-sim/reprise/latency"

// Price is price(tokens) of spec/buckets.md 3: the time to prefill so many tokens
// of one request without a prefix, cut into passes of budget tokens and a rest.
func Price(m latency.Model, budget int) func(tokens int64) (float64, bool) {
	return func(tokens int64) (float64, bool) {
		ms := 0.0
		for before := int64(0); before < tokens; {
			n := min(tokens-before, int64(budget))
			p := latency.Pass{Window: latency.Window(m)}
			p.AddPrefill(n, before)
			cost, err := m.Cost(&p)
			if err != nil {
				return 0, false
			}
			ms += cost.PrefillMs
			before += n
		}
		return ms, true
	}
}

package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "precise",
		Doc:  "asks the instances with the smallest load what they really hold; every answer takes time",
		Keys: []string{"precise_probe_topk", "precise_probe_latency_us", "load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(&Precise{TopK: s.PreciseProbeTopK, LatencyUs: s.PreciseProbeLatencyUs, LoadAlpha: s.LoadAlpha}, Views|Probes)
		},
	})
}

// Precise asks the TopK instances with the smallest [Load] (then id), one after the
// other, how much of the prompt they hold in truth, and sends to the longest answer;
// ties go to the smaller load, then the smaller id (spec/buckets.md 5). The answers
// are those of the instant of the decision, but the request sets off only when all
// have come:
//
//	delay = probes × LatencyUs ÷ 1000 ms
//	Precise{TopK: 4, LatencyUs: 10} over 6 instances   0.04 ms
//	the same over 3                                    0.03 ms
type Precise struct {
	TopK      int     // instances that are asked, at least 1
	LatencyUs float64 // µs until one has answered
	LoadAlpha float64 // weight of a request in load(i)

	order byLoad
}

// RouteInstance implements [LocalRouter].
func (p *Precise) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	ranked := p.order.of(v, p.LoadAlpha)
	asked := ranked[:min(p.TopK, len(ranked))]
	best, longest := NewBest(v, p.LoadAlpha), MaxPrefix(r.InputTokens, v.BlockSize())
	for _, i := range asked {
		blocks := min(int32(v.Resident(int(i), r.Prompt)/v.BlockSize()), longest)
		r.Decision.Probe(int(i), blocks)
		best.Offer(int(i), -float64(blocks))
	}
	c, err := best.Choice(r, "longest_resident_prefix")
	c.DelayMs = float64(len(asked)) * p.LatencyUs / 1000
	return c, err
}

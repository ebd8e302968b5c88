package routing

import (
	"fmt"

	"github.com/reprise-sim/reprise/arrival"
)

func init() {
	Register(LocalPolicy{
		Mode: "estimated_ttft",
		Doc:  "the smallest estimated time to the first token: prefill ahead of it, fetching, own prefill",
		Keys: []string{"load_alpha"},
		New: func(s Settings, _ *arrival.Rand) Placement {
			return Immediate(EstimatedTTFT{s.LoadAlpha}, Views|Prefixes|Prices)
		},
	})
}

// EstimatedTTFT sends to the instance with the smallest
//
//	price(outstanding prefill tokens) + fetch(x blocks) + price(missing tokens)    in ms
//
//	x       = predicted prefix of the bucket − prefix(i) with remote fetch on, else 0
//	missing = input tokens − (prefix(i) + x) × block size
//
// where price is [View].PrefillMs and a fetch of 0 blocks takes no time. Ties go to
// the smaller [Load], then the smaller id (spec/buckets.md 5).
//
//	100 ms a prefill, 5.25 ms a block fetched, one block known in the bucket:
//	  2 prefills ahead, holds it         200 + 0 + 100
//	  idle, does not                       0 + 5.25 + 100   <- here
type EstimatedTTFT struct {
	LoadAlpha float64 // weight of a request in load(i)
}

// RouteInstance implements [LocalRouter].
func (p EstimatedTTFT) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	best := NewBest(v, p.LoadAlpha)
	for i := range Candidates(v) {
		ms, err := estimate(r, v, i)
		if err != nil {
			return Choice{}, err
		}
		r.Decision.Score(i, ms)
		best.Offer(i, ms)
	}
	return best.Choice(r, "lowest_estimate")
}

// estimate is the estimated TTFT on a target, in ms.
func estimate(r *Request, v View, target int) (float64, error) {
	held := v.Prefix()[target]
	var fetched int32
	var fetchMs float64
	if v.Remote() {
		if fetched = max(v.Predicted()-held, 0); fetched > 0 {
			fetchMs = v.RemoteMs(fetched)
		}
	}
	missing := int64(r.InputTokens) - int64(held+fetched)*int64(v.BlockSize())
	aheadMs, ok := v.PrefillMs(int64(v.Load(target).PrefillTokens))
	ownMs, can := v.PrefillMs(missing)
	if !ok || !can {
		return 0, fmt.Errorf("request %d: estimated_ttft needs a latency model that prices prefills", r.Row)
	}
	return aheadMs + fetchMs + ownMs, nil
}

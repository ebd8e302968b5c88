package routing

func init() {
	RegisterGlobal(GlobalPolicy{
		Mode: "round_robin",
		Doc:  "the buckets in turn, whatever the input length",
		New:  func(GlobalSettings) GlobalRouter { return &BucketRoundRobin{} },
	})
}

// BucketRoundRobin takes the buckets in turn, from id 0 on (spec/buckets.md 4). It
// looks at nothing: a baseline that is blind to length.
type BucketRoundRobin struct{ next int32 }

// Needs implements [GlobalRouter].
func (*BucketRoundRobin) Needs() Needs { return 0 }

// RouteBucket implements [GlobalRouter].
func (p *BucketRoundRobin) RouteBucket(_ *Request, buckets []BucketView) (BucketChoice, error) {
	at := p.next % int32(len(buckets))
	p.next = at + 1
	return BucketChoice{at, "next_in_turn"}, nil
}

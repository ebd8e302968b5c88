package routing

func init() {
	RegisterGlobal(GlobalPolicy{
		Mode: "strict_input_length",
		Doc:  "the bucket whose range holds the input length",
		New:  func(GlobalSettings) GlobalRouter { return StrictInputLength{} },
	})
}

// StrictInputLength sends a request to the bucket whose range holds its input length
// (spec/buckets.md 4), and nowhere if there is none. It looks at nothing else.
//
//	short 0..32768, long 32769..131072
//	  32768 tokens    short
//	  131073 tokens   no_bucket
type StrictInputLength struct{}

// Needs implements [GlobalRouter].
func (StrictInputLength) Needs() Needs { return 0 }

// Homebound implements [Homebound].
func (StrictInputLength) Homebound() {}

// RouteBucket implements [GlobalRouter].
func (StrictInputLength) RouteBucket(r *Request, buckets []BucketView) (BucketChoice, error) {
	home, err := Home(r.InputTokens, buckets)
	if err != nil || home < 0 {
		return noBucket, err
	}
	return BucketChoice{home, "length_in_range"}, nil
}

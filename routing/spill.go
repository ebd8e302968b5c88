package routing

func init() {
	RegisterGlobal(GlobalPolicy{
		Mode: "spill",
		Doc:  "the bucket whose range holds the input length or, when that is too busy, the next larger one",
		Keys: []string{"spill_load"},
		New:  func(s GlobalSettings) GlobalRouter { return Spill{s.SpillLoad} },
	})
}

// Spill sends a request to the bucket whose range holds its input length, its home.
// When the home's [BucketLoad] is above Load and that of the bucket with the next
// larger range is below Load, it goes there: one step, never further, never down
// (spec/buckets.md 4). Without a home it goes nowhere.
//
//	Spill{Load: 1}, home with load 1.25
//	  next bucket with load 0.5    spilled
//	  next bucket with load 1      home_bucket
type Spill struct{ Load float64 }

// Needs implements [GlobalRouter].
func (Spill) Needs() Needs { return Views }

// Homebound implements [Homebound].
func (Spill) Homebound() {}

// RouteBucket implements [GlobalRouter].
func (p Spill) RouteBucket(r *Request, buckets []BucketView) (BucketChoice, error) {
	home, err := Home(r.InputTokens, buckets)
	if err != nil || home < 0 {
		return noBucket, err
	}
	next := home + 1
	if int(next) < len(buckets) && BucketLoad(buckets[home]) > p.Load && BucketLoad(buckets[next]) < p.Load {
		return BucketChoice{next, "spilled"}, nil
	}
	return BucketChoice{home, "home_bucket"}, nil
}

package routing

func init() {
	RegisterGlobal(GlobalPolicy{
		Mode: "least_loaded",
		Doc:  "the bucket with the smallest load, whatever the input length",
		New:  func(GlobalSettings) GlobalRouter { return BucketLeastLoaded{} },
	})
}

// BucketLeastLoaded sends to the bucket with the smallest [BucketLoad], then the
// smallest id (spec/buckets.md 4): a baseline that is blind to length.
type BucketLeastLoaded struct{}

// Needs implements [GlobalRouter].
func (BucketLeastLoaded) Needs() Needs { return Views }

// RouteBucket implements [GlobalRouter].
func (BucketLeastLoaded) RouteBucket(_ *Request, buckets []BucketView) (BucketChoice, error) {
	best, lowest := int32(0), 0.0
	for i, v := range buckets {
		if load := BucketLoad(v); i == 0 || load < lowest {
			best, lowest = v.Bucket().ID, load
		}
	}
	return BucketChoice{best, "lowest_load"}, nil
}

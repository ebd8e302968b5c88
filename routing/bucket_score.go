package routing

func init() {
	RegisterGlobal(GlobalPolicy{
		Mode: "bucket_score",
		Doc:  "the smallest weighted sum of distance to the range, load and prompt to compute",
		Keys: []string{"length_penalty_weight", "load_weight", "cache_weight"},
		New: func(s GlobalSettings) GlobalRouter {
			return BucketScore{s.LengthPenaltyWeight, s.LoadWeight, s.CacheWeight}
		},
	})
}

// BucketScore sends a request to the bucket with the smallest
//
//	score = Length × length_penalty + Load × load + Cache × miss
//
// of [LengthPenalty], [BucketLoad] and [BucketMiss], all of them fractions
// (spec/buckets.md 4). Ties go to the smaller length_penalty, then the smaller load,
// then the smaller id. Every request finds a bucket.
//
//	BucketScore{Length: 1, Load: 1}
//	  its own bucket, load 0.9     0 + 0.9     = 0.9
//	  the other one, idle          0.5 + 0     = 0.5   <- here
//
// BucketScore{Length: 1} over ranges that cover everything is [StrictInputLength].
type BucketScore struct{ Length, Load, Cache float64 }

// Needs implements [GlobalRouter].
func (p BucketScore) Needs() Needs {
	if p.Cache > 0 {
		return Views | Prefixes
	}
	return Views
}

// RouteBucket implements [GlobalRouter].
func (p BucketScore) RouteBucket(r *Request, buckets []BucketView) (BucketChoice, error) {
	var best weighed
	for i, v := range buckets {
		b := p.weigh(r, v)
		r.Decision.ScoreBucket(v.Bucket().ID, b.score)
		if i == 0 || b.before(best) {
			best = b
		}
	}
	return BucketChoice{best.id, "lowest_score"}, nil
}

// weighed is a bucket with its score and what decides a tie.
type weighed struct {
	score, penalty, load float64
	id                   int32
}

func (p BucketScore) weigh(r *Request, v BucketView) weighed {
	w := weighed{penalty: LengthPenalty(r.InputTokens, v.Bucket()), load: BucketLoad(v), id: v.Bucket().ID}
	w.score = float64(p.Length * w.penalty)
	if p.Load > 0 {
		w.score += float64(p.Load * w.load)
	}
	if p.Cache > 0 {
		w.score += float64(p.Cache * BucketMiss(r.InputTokens, v))
	}
	return w
}

// before is whether w is to be preferred to o.
func (w weighed) before(o weighed) bool {
	switch {
	case w.score != o.score:
		return w.score < o.score
	case w.penalty != o.penalty:
		return w.penalty < o.penalty
	case w.load != o.load:
		return w.load < o.load
	}
	return w.id < o.id
}

package routing

import (
	"cmp"
	"math"
	"slices"
)

// Decision is one routing decision with everything that was weighed: a line of
// routing_log.jsonl (spec/buckets.md 8). Pointers are nil where a value does not
// exist.
//
// Whoever routes fills it in this order: Reset, the first fields, SeeBuckets, the
// global router, ChooseBucket, SeeInstances, the placement, ChooseInstance; without a
// bucket it ends at ChooseBucket. Routers note what they weigh through
// [Request].Decision. All methods that fill it do nothing on a nil Decision.
type Decision struct {
	TimeMs      float64 `json:"time_ms"`
	RequestID   string  `json:"request_id"`
	SessionID   string  `json:"session_id"`
	InputLength int32   `json:"input_length"`
	GlobalMode  string  `json:"global_mode"`
	LocalMode   string  `json:"local_mode"`

	ChosenBucket     *int32  `json:"chosen_bucket"`
	ChosenBucketName *string `json:"chosen_bucket_name"`
	ChosenInstance   *int32  `json:"chosen_instance"`

	// Candidates stand in order of their ids. Of more than 64 the chosen one and the
	// best 16 are kept; the totals then say how many there were, and are 0 else.
	Buckets        []BucketCandidate   `json:"bucket_candidates"`
	BucketsTotal   int                 `json:"bucket_candidates_total,omitempty"`
	Instances      []InstanceCandidate `json:"instance_candidates"`
	InstancesTotal int                 `json:"candidates_total,omitempty"`

	GlobalReason      string  `json:"global_reason"`
	LocalReason       *string `json:"local_reason"`
	LengthBucketMatch *bool   `json:"length_bucket_match"` // nil: no bucket's range holds the length
	ProbeMs           float64 `json:"probe_ms"`
	ViewAgeMs         float64 `json:"view_age_ms,omitempty"` // of the buckets

	// BestAvailable is the longest prefix(i) in the whole service, Regret what the
	// chosen instance had less; both by the meta stores at the decision, in blocks.
	BestAvailable int32  `json:"best_available_prefix_blocks"`
	Regret        *int32 `json:"regret_blocks"`

	// Considered are the instances among which the choice was made, in the policy's
	// own order; empty if that is all of them in no order.
	Considered []int32 `json:"considered,omitempty"`
}

// Clone is a copy that stays when the record is used again.
func (d *Decision) Clone() Decision {
	c := *d
	c.Buckets, c.Instances, c.Considered = slices.Clone(d.Buckets), slices.Clone(d.Instances), slices.Clone(d.Considered)
	return c
}

// BucketCandidate is a bucket as the global router saw it, with its terms.
type BucketCandidate struct {
	ID              int32    `json:"bucket_id"`
	Name            string   `json:"name"`
	Min             int32    `json:"input_length_min"`
	Max             *int32   `json:"input_length_max"` // nil: unlimited
	Instances       int32    `json:"num_instances"`
	QueueSum        int32    `json:"queue_len_sum"`
	QueueMax        int32    `json:"queue_len_max"`
	BlocksUsed      int64    `json:"kv_blocks_used_sum"`
	BlocksTotal     int64    `json:"kv_blocks_total_sum"`
	Active          int32    `json:"active_requests"`
	PredictedPrefix int32    `json:"predicted_prefix_blocks"`
	DrainMs         *float64 `json:"estimated_drain_ms"` // nil: the latency model cannot say
	LengthPenalty   float64  `json:"length_penalty"`
	Load            float64  `json:"load"`
	Miss            float64  `json:"miss"`
	Score           *float64 `json:"score"` // nil: the policy has none
}

// InstanceCandidate is an instance as the local router saw it.
type InstanceCandidate struct {
	ID         int32    `json:"id"`
	Queue      int32    `json:"queue_len"`
	Running    int32    `json:"running"`
	BlocksUsed int32    `json:"kv_blocks_used"`
	Load       float64  `json:"load"`
	Prefix     int32    `json:"prefix_blocks"`
	Score      *float64 `json:"score"`  // nil: the policy has none, or did not consider it
	Probed     *int32   `json:"probed"` // blocks that it really held; nil: it was not asked
}

// Reset empties the record; its storage is reused.
func (d *Decision) Reset() {
	if d != nil {
		*d = Decision{Buckets: d.Buckets[:0], Instances: d.Instances[:0], Considered: d.Considered[:0]}
	}
}

// SeeBuckets notes what the global router is about to see.
func (d *Decision) SeeBuckets(r *Request, buckets []BucketView) {
	if d == nil {
		return
	}
	for _, v := range buckets {
		b, c := v.Bucket(), v.Counts()
		candidate := BucketCandidate{
			ID: b.ID, Name: b.Name, Min: b.Min, Instances: c.Instances,
			QueueSum: c.QueueSum, QueueMax: c.QueueMax, BlocksUsed: c.BlocksUsed, BlocksTotal: c.BlocksTotal,
			Active: c.Active, PredictedPrefix: v.Predicted(),
			LengthPenalty: LengthPenalty(r.InputTokens, b), Load: BucketLoad(v), Miss: BucketMiss(r.InputTokens, v),
		}
		if b.Max != Unlimited {
			candidate.Max = kept(b.Max)
		}
		if ms, ok := v.DrainMs(); ok {
			candidate.DrainMs = kept(ms)
		}
		d.Buckets = append(d.Buckets, candidate)
		d.ViewAgeMs = v.AgeMs()
	}
}

// ScoreBucket notes the score of a bucket.
func (d *Decision) ScoreBucket(bucket int32, score float64) {
	if d != nil {
		d.Buckets[bucket].Score = kept(score)
	}
}

// ChooseBucket notes the choice of the global router; home is the [Home] of the
// request.
func (d *Decision) ChooseBucket(c BucketChoice, home int32) {
	if d == nil {
		return
	}
	d.GlobalReason = c.Reason
	if c.Bucket >= 0 {
		d.ChosenBucket, d.ChosenBucketName = kept(c.Bucket), kept(d.Buckets[c.Bucket].Name)
		if home >= 0 {
			d.LengthBucketMatch = kept(home == c.Bucket)
		}
	}
	d.cutBuckets(c.Bucket)
}

// SeeInstances notes what the local router is about to see; loadAlpha is its
// load_alpha.
func (d *Decision) SeeInstances(v View, loadAlpha float64) {
	if d == nil {
		return
	}
	prefix := v.Prefix()
	for i := range Candidates(v) {
		l := v.Load(i)
		d.Instances = append(d.Instances, InstanceCandidate{
			ID: int32(i), Queue: int32(l.Waiting), Running: int32(l.Running), BlocksUsed: int32(l.BlocksUsed),
			Load: Load(l, loadAlpha), Prefix: prefix[i],
		})
	}
}

// Score notes the score of a target.
func (d *Decision) Score(target int, score float64) {
	if d != nil {
		d.instance(target).Score = kept(score)
	}
}

// Probe notes that a target was asked and how many leading blocks of the prompt it
// holds.
func (d *Decision) Probe(target int, blocks int32) {
	if d != nil {
		d.instance(target).Probed = kept(blocks)
	}
}

// Consider notes the targets among which the choice is made, in the policy's order.
func (d *Decision) Consider(targets []int32) {
	if d != nil {
		d.Considered = append(d.Considered[:0], targets...)
	}
}

// ConsiderAll notes that the choice is made among all targets.
func (d *Decision) ConsiderAll() {
	if d == nil {
		return
	}
	for i := range d.Instances {
		d.Considered = append(d.Considered, d.Instances[i].ID)
	}
}

// ChooseInstance notes the choice of the placement; bestAvailable is the longest
// prefix(i) in the whole service.
func (d *Decision) ChooseInstance(c Choice, bestAvailable int32) {
	if d == nil {
		return
	}
	d.ChosenInstance, d.LocalReason, d.ProbeMs = kept(c.Target), kept(c.Reason), c.DelayMs
	d.BestAvailable, d.Regret = bestAvailable, kept(bestAvailable-d.instance(int(c.Target)).Prefix)
	d.cutInstances(c.Target)
}

// instance is the record of a target.
func (d *Decision) instance(target int) *InstanceCandidate {
	at, ok := slices.BinarySearchFunc(d.Instances, int32(target), func(c InstanceCandidate, id int32) int { return cmp.Compare(c.ID, id) })
	if !ok {
		panic("routing: a target that takes no requests is weighed")
	}
	return &d.Instances[at]
}

// kept is a value that the record keeps. (The address of a parameter would cost
// memory even when nobody records.)
func kept[T any](v T) *T { return &v }

const (
	mostCandidates = 64 // that are all kept
	bestCandidates = 16 // that are kept of more
)

// cutBuckets keeps the chosen one and the best of many: by score, then penalty, then
// id.
func (d *Decision) cutBuckets(chosen int32) {
	if len(d.Buckets) <= mostCandidates {
		return
	}
	d.BucketsTotal = len(d.Buckets)
	d.Buckets = cut(d.Buckets,
		func(b *BucketCandidate) bool { return b.ID == chosen },
		func(a, b *BucketCandidate) int {
			return cmp.Or(compareScores(a.Score, b.Score), cmp.Compare(a.LengthPenalty, b.LengthPenalty), cmp.Compare(a.ID, b.ID))
		},
		func(a, b *BucketCandidate) int { return cmp.Compare(a.ID, b.ID) })
}

// cutInstances keeps the chosen one and the best of many: by score, then the order
// in which the policy considered them, then load, then id.
func (d *Decision) cutInstances(chosen int32) {
	if len(d.Instances) <= mostCandidates {
		return
	}
	d.InstancesTotal = len(d.Instances)
	turn := map[int32]int{}
	for at, id := range d.Considered {
		turn[id] = at - len(d.Considered) // below 0, which the others have
	}
	d.Instances = cut(d.Instances,
		func(i *InstanceCandidate) bool { return i.ID == chosen },
		func(a, b *InstanceCandidate) int {
			return cmp.Or(compareScores(a.Score, b.Score), cmp.Compare(turn[a.ID], turn[b.ID]), cmp.Compare(a.Load, b.Load), cmp.Compare(a.ID, b.ID))
		},
		func(a, b *InstanceCandidate) int { return cmp.Compare(a.ID, b.ID) })
	d.Considered = d.Considered[:min(len(d.Considered), bestCandidates)]
}

// cut keeps the chosen one and the best of a list.
func cut[C any](list []C, chosen func(*C) bool, better, byID func(a, b *C) int) []C {
	slices.SortFunc(list, func(a, b C) int { return better(&a, &b) })
	n := bestCandidates
	if at := slices.IndexFunc(list, func(c C) bool { return chosen(&c) }); at >= n {
		list[n] = list[at]
		n++
	}
	list = list[:n]
	slices.SortFunc(list, func(a, b C) int { return byID(&a, &b) })
	return list
}

// compareScores puts what has no score last.
func compareScores(a, b *float64) int { return cmp.Compare(orInf(a), orInf(b)) }

func orInf(score *float64) float64 {
	if score == nil {
		return math.Inf(1)
	}
	return *score
}

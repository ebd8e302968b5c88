package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/routing"
)

// reason is why a policy chose a candidate, in words that follow "because", and what
// it compared, if the log shows it.
type reason[C any] struct {
	words string
	by    *measure[C]
	ties  string // what decides between equals
}

// measure is what candidates are compared by.
type measure[C any] struct {
	name string
	of   func(*C) (v float64, ok bool) // ok: the candidate has one
	most bool                          // more is better
}

// score reads a value that a candidate may not have.
func score(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

type (
	bucket   = routing.BucketCandidate
	instance = routing.InstanceCandidate
)

// What buckets are compared by.
var (
	bucketScore = measure[bucket]{name: "score", of: func(b *bucket) (float64, bool) { return score(b.Score) }}
	bucketLoad  = measure[bucket]{name: "load", of: func(b *bucket) (float64, bool) { return b.Load, true }}
)

// What instances are compared by.
var (
	instanceScore = measure[instance]{name: "score", of: func(i *instance) (float64, bool) { return score(i.Score) }}
	firstToken    = measure[instance]{name: "estimate in ms", of: instanceScore.of}
	instanceLoad  = measure[instance]{name: "load", of: func(i *instance) (float64, bool) { return i.Load, true }}
	requests      = measure[instance]{name: "requests", of: func(i *instance) (float64, bool) { return float64(i.Queue + i.Running), true }}
	prefix        = measure[instance]{name: "prefix in blocks", most: true, of: func(i *instance) (float64, bool) { return float64(i.Prefix), true }}
	resident      = measure[instance]{name: "prefix in blocks", most: true, of: func(i *instance) (float64, bool) {
		if i.Probed == nil {
			return 0, false
		}
		return float64(*i.Probed), true
	}}
)

// What decides between equals.
const (
	smallerLoad = "the smaller load decides, then the smaller id"
	smallerID   = "the smaller id decides"
)

// bucketReasons are those of spec/buckets.md 4.
var bucketReasons = map[string]reason[bucket]{
	"length_in_range": {words: "its range holds the length"},
	"lowest_score":    {words: "it has the lowest score", by: &bucketScore, ties: "the smaller penalty decides, then the smaller load, then the smaller id"},
	"home_bucket":     {words: "its range holds the length, and it is not so busy that the next larger one would do better"},
	"spilled":         {words: "the bucket whose range holds the length is too busy, and this is the next larger one"},
	"next_in_turn":    {words: "it is its turn"},
	"lowest_load":     {words: "it has the lowest load", by: &bucketLoad, ties: smallerID},
}

// instanceReasons are those of spec/buckets.md 5 and 5.1.
var instanceReasons = map[string]reason[instance]{
	"next_in_turn":                   {words: "it is its turn"},
	"drawn":                          {words: "it was drawn by lot"},
	"lower_load_of_two":              {words: "of the two that were drawn by lot it has the lower load", by: &instanceLoad, ties: smallerID},
	"fewest_requests":                {words: "it has the fewest requests, running or not", by: &requests, ties: smallerLoad},
	"fewest_tokens":                  {words: "it has the fewest prompt tokens left to compute, which the log does not list"},
	"session_owner":                  {words: "it owns the session"},
	"prefix_owner":                   {words: "it owns the first blocks of the prompt"},
	"longest_prefix":                 {words: "it holds the longest prefix of the prompt, by the meta store", by: &prefix, ties: smallerLoad},
	"longest_prefix_of_least_loaded": {words: "of the least loaded instances it holds the longest prefix of the prompt, by the meta store", by: &prefix, ties: smallerLoad},
	"lowest_score":                   {words: "it has the lowest score", by: &instanceScore, ties: smallerLoad},
	"lowest_score_of_affine":         {words: "of the owners of the prompt's first blocks it has the lowest score", by: &instanceScore, ties: "the first in the order of owners wins"},
	"longest_resident_prefix":        {words: "of the instances that were asked it holds the longest prefix of the prompt", by: &resident, ties: smallerLoad},
	"lowest_estimate":                {words: "the first token is expected from it the soonest", by: &firstToken, ties: smallerLoad},
	"no_full_block":                  {words: "the prompt has no full block that could have owners, and it has the lowest load or score"},
}

// why are the words for a reason; one that nobody knows stands for itself.
func why[C any](reasons map[string]reason[C], name string) reason[C] {
	if r, ok := reasons[name]; ok {
		return r
	}
	return reason[C]{words: "of " + name}
}

// margin says by how much a candidate won over the best of the others; "" if nothing
// can be said. label names a candidate.
func (r *reason[C]) margin(won *C, others []C, label func(*C) string) string {
	if r.by == nil || won == nil {
		return ""
	}
	m := r.by
	v, ok := m.of(won)
	if !ok {
		return ""
	}
	others = slices.DeleteFunc(slices.Clone(others), func(c C) bool {
		_, ok := m.of(&c)
		return !ok
	})
	if len(others) == 0 {
		return fmt.Sprintf("%s %s; there was no other.", m.name, number(v))
	}
	next := slices.MinFunc(others, func(a, b C) int {
		x, _ := m.of(&a)
		y, _ := m.of(&b)
		if m.most {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	w, _ := m.of(&next)
	if v == w {
		return fmt.Sprintf("%s %s, as %s has; between equals %s.", m.name, number(v), label(&next), r.ties)
	}
	return fmt.Sprintf("%s %s; the next, %s, has %s.", m.name, number(v), label(&next), number(w))
}

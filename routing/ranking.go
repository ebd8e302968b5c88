package routing

import (
	"cmp"
	"slices"
)

// ranking orders targets by a key, smallest first, then by id. Its storage is
// reused from decision to decision.
type ranking[K cmp.Ordered] struct {
	places []place[K]
	ids    []int32
}

type place[K cmp.Ordered] struct {
	key K
	id  int32
}

// of ranks the targets that take requests. The result is valid until the next call.
func (o *ranking[K]) of(v View, key func(target int) K) []int32 {
	o.places, o.ids = o.places[:0], o.ids[:0]
	for i := range Candidates(v) {
		o.places = append(o.places, place[K]{key(i), int32(i)})
	}
	slices.SortFunc(o.places, func(a, b place[K]) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	for _, p := range o.places {
		o.ids = append(o.ids, p.id)
	}
	return o.ids
}

// byLoad ranks targets by load.
type byLoad struct{ ranking[float64] }

func (o *byLoad) of(v View, alpha float64) []int32 {
	return o.ranking.of(v, func(i int) float64 { return Load(v.Load(i), alpha) })
}

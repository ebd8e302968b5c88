package profile

import (
	"cmp"
	"slices"
	"sort"

	"github.com/reprise-sim/reprise/latency"
)

// Sites are measured matrix products: for each shape (n, k) a curve over m. A shape
// that was not measured borrows the efficiency of those near it, up to two octaves
// away, nearer ones more (spec/latency.md 3.1).
type Sites struct {
	sites []site
	light func(m, n, k float64) float64 // time at full speed
}

// site is the curve of a shape.
type site struct {
	n, k  float64
	curve *Table
}

// NewSites is no sites; light is the time of a product at full speed in the unit of
// the measurements.
func NewSites(light func(m, n, k float64) float64) *Sites { return &Sites{light: light} }

// Add adds a measured product.
func (s *Sites) Add(m, n, k, time float64) {
	i, found := slices.BinarySearchFunc(s.sites, site{n: n, k: k}, func(a, b site) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.k, b.k))
	})
	if !found {
		curve := NewTable(Linear)
		curve.Light = func(p []float64) float64 { return s.light(p[0], n, k) }
		s.sites = slices.Insert(s.sites, i, site{n, k, curve})
	}
	s.sites[i].curve.Add([]float64{m}, time)
}

// At is the time of a product and where it is from; false if no shape is near enough.
func (s *Sites) At(m, n, k float64) (time float64, from latency.Provenance, ok bool) {
	return s.except(m, n, k, -1)
}

// neighbours is how many sites lend their efficiency, farSquare how far they may be:
// two octaves along one side.
const (
	neighbours = 6
	farSquare  = 3 * 3
)

// ratio is how unlike two sizes are: 0 if they are equal, 1 for an octave, 3 for two.
func ratio(a, b float64) float64 { return max(a/b, b/a) - 1 }

// near is a site and the square of its distance.
type near struct {
	i      int
	square float64
}

// except is At without one site.
func (s *Sites) except(m, n, k float64, without int) (float64, latency.Provenance, bool) {
	if s == nil {
		return 0, 0, false
	}
	var list []near
	for i := range s.sites {
		if i == without {
			continue
		}
		t := &s.sites[i]
		if t.n == n && t.k == k {
			return t.curve.At([]float64{m})
		}
		if d := float64(ratio(t.n, n)*ratio(t.n, n)) + float64(ratio(t.k, k)*ratio(t.k, k)); d <= farSquare {
			list = append(list, near{i, d})
		}
	}
	if len(list) == 0 {
		return 0, 0, false
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].square < list[b].square })
	return s.borrow(m, n, k, list[:min(neighbours, len(list))])
}

// borrow is the time at the mean efficiency of neighbours, weighed by 1/distance².
func (s *Sites) borrow(m, n, k float64, list []near) (float64, latency.Provenance, bool) {
	from, sum, weights := latency.Interpolated, 0.0, 0.0
	for _, other := range list {
		t := &s.sites[other.i]
		time, p, ok := t.curve.At([]float64{m})
		if !ok {
			continue
		}
		from = max(from, p)
		w := 1 / other.square
		sum += float64(w * (time / s.light(m, t.n, t.k)))
		weights += w
	}
	if weights == 0 {
		return 0, 0, false
	}
	return sum / weights * s.light(m, n, k), from, true
}

// LeaveOut calls visit for every measured point with its time and what the other
// shapes say of it.
func (s *Sites) LeaveOut(visit func(measured, predicted float64)) {
	for i := range s.sites {
		t := &s.sites[i]
		for j, m := range t.curve.root.at {
			if p, _, ok := s.except(m, t.n, t.k, i); ok {
				visit(t.curve.root.children[j].time, p)
			}
		}
	}
}

package profile

import (
	"math"
	"slices"
	"sort"

	"github.com/reprise-sim/reprise/latency"
)

// Table is measured times at points of some axes. Points form a tree: below a value
// of the first axis stand the values of the second that were measured with it, and so
// on; so a grid may be ragged.
type Table struct {
	axes []Axis
	root node
	rows int
	// Light is the time at full speed of a point, in the unit of the table: beyond the
	// measured points the ratio to it is held. nil: the last measured time is held.
	Light func(point []float64) float64
}

// Axis is how a table interpolates along one coordinate.
type Axis uint8

const (
	Linear    Axis = iota
	Quadratic      // time grows with the square: linear in √time
	Exactly        // only what was measured: kinds, shapes
)

// node is the points below one value of an axis.
type node struct {
	at       []float64 // values of the axis, sorted
	children []node
	time     float64 // of a leaf
}

// NewTable is an empty table over some axes.
func NewTable(axes ...Axis) *Table { return &Table{axes: axes} }

// Len is the number of points.
func (t *Table) Len() int { return t.rows }

// Add adds a measured time. A point that is there already keeps the smaller time: the
// other one was disturbed.
func (t *Table) Add(point []float64, time float64) {
	n := &t.root
	for _, v := range point {
		i := sort.SearchFloat64s(n.at, v)
		if i == len(n.at) || n.at[i] != v {
			n.at = slices.Insert(n.at, i, v)
			n.children = slices.Insert(n.children, i, node{time: math.Inf(1)})
		}
		n = &n.children[i]
	}
	if math.IsInf(n.time, 1) {
		t.rows++
	}
	n.time = min(n.time, time)
}

// At is the time of a point and where it is from; false if the table has nothing to
// say: it is empty, or a value that has to be exact was not measured.
func (t *Table) At(point []float64) (time float64, from latency.Provenance, ok bool) {
	if t == nil || t.rows == 0 {
		return 0, 0, false
	}
	q := query{table: t, point: slices.Clone(point), border: slices.Clone(point)}
	time, ok = q.at(&t.root, 0)
	return time, q.from, ok
}

// query is a look at a point.
type query struct {
	table  *Table
	point  []float64
	border []float64 // the point, moved into what was measured
	from   latency.Provenance
}

// at looks below a node.
func (q *query) at(n *node, depth int) (float64, bool) {
	if depth == len(q.point) {
		return n.time, true
	}
	v := q.point[depth]
	i := sort.SearchFloat64s(n.at, v)
	switch {
	case i < len(n.at) && n.at[i] == v:
		q.border[depth] = v
		return q.at(&n.children[i], depth+1)
	case q.table.axes[depth] == Exactly:
		return 0, false
	case i == 0:
		return q.beyond(n, 0, depth)
	case i == len(n.at):
		return q.beyond(n, i-1, depth)
	}
	return q.between(n, i, depth)
}

// between interpolates between two values of an axis.
func (q *query) between(n *node, i, depth int) (float64, bool) {
	v, low, high := q.point[depth], n.at[i-1], n.at[i]
	q.worst(latency.Interpolated)
	q.border[depth] = low
	a, okA := q.at(&n.children[i-1], depth+1)
	q.border[depth] = high
	b, okB := q.at(&n.children[i], depth+1)
	switch {
	case !okA:
		return b, okB
	case !okB:
		return a, okA
	}
	w := (v - low) / (high - low)
	if q.table.axes[depth] == Quadratic {
		a, b = math.Sqrt(a), math.Sqrt(b)
		r := a + float64(w*(b-a))
		return r * r, true
	}
	return a + float64(w*(b-a)), true
}

// farthest is how many times the work of the last measured point may be exceeded
// while its efficiency is held.
const farthest = 2

// beyond answers for a value outside of what was measured.
func (q *query) beyond(n *node, i, depth int) (float64, bool) {
	q.border[depth] = n.at[i]
	time, ok := q.at(&n.children[i], depth+1)
	if !ok {
		return 0, false
	}
	if q.table.Light == nil {
		q.worst(latency.Clamped)
		return time, true
	}
	here := slices.Clone(q.border)
	here[depth] = q.point[depth]
	ratio := q.table.Light(here) / q.table.Light(q.border)
	if !(ratio > 1/float64(farthest) && ratio < farthest) {
		q.worst(latency.Clamped)
	} else {
		q.worst(latency.Held)
	}
	return time * ratio, true
}

// worst keeps the least trustworthy origin.
func (q *query) worst(p latency.Provenance) { q.from = max(q.from, p) }

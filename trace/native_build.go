package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// nativeReader reads the rows of one pass.
type nativeReader struct {
	format  *nativeFormat
	prompts [3]int // calls by how much is known of their own tokens
	// Scratch of one row.
	scan    jsonrow.Scanner
	edges   []Edge
	sources []string
	ids     []uint64
	tokens  []uint32
	counts  []int32
	// Scratch of one task.
	rowOf    map[string]int32 // by id
	order    []int32          // rows by node
	nodeOf   []int32          // nodes by row, or how far the row is
	path     []int32          // rows on the way to the one that is being ordered
	contexts []*token.Seq     // input and output of a node, nil before somebody asks
	turns    map[string]int32 // calls so far, by session
}

// Rows that have no place among the nodes yet.
const (
	waiting = -1 - iota
	placing // and what they wait for is being placed
)

// Label says which task a row belongs to. Only a row that waits for nothing has a
// time.
func (r *nativeReader) Label(w *nativeRow) Label {
	l := Label{Task: w.task, Named: true, TimeMs: w.startMs}
	if len(w.after) > 0 {
		l.TimeMs = Untimed()
	}
	return l
}

// Build makes a task of its rows: edges and contexts become references, and a node
// comes after all that it waits for.
func (r *nativeReader) Build(rows []nativeRow, t *Task, slab *Slab) error {
	r.begin(rows)
	for i := range rows {
		if err := r.place(rows, int32(i)); err != nil {
			return err
		}
	}
	t.ID, t.ReleaseMs = rows[0].task, release(rows)
	t.Nodes = slab.Nodes(len(rows))
	for i, row := range r.order {
		w := &rows[row]
		t.Nodes[i] = w.node
		if err := r.start(w, &t.Nodes[i], t.ReleaseMs); err != nil {
			return err
		}
		if err := r.link(w, t, i, slab); err != nil {
			return err
		}
		r.turn(w, &t.Nodes[i])
	}
	return nil
}

// begin forgets the task before.
func (r *nativeReader) begin(rows []nativeRow) {
	n := len(rows)
	r.order, r.path = r.order[:0], r.path[:0]
	r.nodeOf = append(r.nodeOf[:0], make([]int32, n)...)
	r.contexts = append(r.contexts[:0], make([]*token.Seq, n)...)
	for i := range r.nodeOf {
		r.nodeOf[i] = waiting
	}
	if n == 1 {
		return
	}
	clear(r.rowOf)
	clear(r.turns)
	for i := range rows {
		r.rowOf[rows[i].node.ID] = int32(i)
	}
}

// find is the row of the node id.
func (r *nativeReader) find(rows []nativeRow, w *nativeRow, field, id string) (int32, error) {
	i, ok := r.rowOf[id]
	if len(rows) == 1 {
		i, ok = 0, id == w.node.ID
	}
	if !ok {
		return 0, w.at.Fault(field, id, "the id of a node of task "+w.task)
	}
	return i, nil
}

// place gives the node of a row its place, behind all that it waits for or extends.
// Where these leave a choice, nodes keep the order of the file.
func (r *nativeReader) place(rows []nativeRow, row int32) error {
	w := &rows[row]
	switch r.nodeOf[row] {
	case waiting:
	case placing:
		return r.cycle(rows, w, slices.Index(r.path, row))
	default:
		return nil
	}
	r.nodeOf[row] = placing
	r.path = append(r.path, row)
	for _, id := range w.sources {
		if err := r.placeSource(rows, w, "after.id", id); err != nil {
			return err
		}
	}
	if w.extends != "" {
		if err := r.placeSource(rows, w, "input.extends", w.extends); err != nil {
			return err
		}
	}
	r.path = r.path[:len(r.path)-1]
	r.nodeOf[row] = int32(len(r.order))
	r.order = append(r.order, row)
	return nil
}

func (r *nativeReader) placeSource(rows []nativeRow, w *nativeRow, field, id string) error {
	source, err := r.find(rows, w, field, id)
	if err != nil {
		return err
	}
	return r.place(rows, source)
}

// cycle is the fault of a node that waits for itself; the cycle starts at at of the
// path.
func (r *nativeReader) cycle(rows []nativeRow, w *nativeRow, at int) error {
	const most = 8
	var names []string
	for _, row := range r.path[at:] {
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, rows[row].node.ID)
	}
	return w.at.Fault("after", strings.Join(append(names, w.node.ID), " waits for "), "no node that waits for itself")
}

// release is when a task arrives: the earliest start of a node that waits for
// nothing.
func release(rows []nativeRow) float64 {
	ms := Untimed()
	for i := range rows {
		if w := &rows[i]; len(w.after) == 0 && !(w.startMs >= ms) && !math.IsNaN(w.startMs) {
			ms = w.startMs
		}
	}
	return ms
}

// start turns the earliest start of a node into one from the task's release.
func (r *nativeReader) start(w *nativeRow, n *Node, releaseMs float64) error {
	switch {
	case math.IsNaN(w.startMs):
		return nil
	case math.IsNaN(releaseMs):
		return w.at.Fault("not_before_ms", fmt.Sprint(w.startMs), "one on a node of the task that waits for nothing, too")
	}
	n.NotBeforeMs = max(0, w.startMs-releaseMs)
	return nil
}

// turn counts the calls of a session in the task.
func (r *nativeReader) turn(w *nativeRow, n *Node) {
	if len(r.order) == 1 || n.Kind != LLM || n.Session == "" {
		return
	}
	if !w.named.turn {
		n.Turn = r.turns[n.Session]
	}
	r.turns[n.Session]++
}

// link resolves what node i refers to.
func (r *nativeReader) link(w *nativeRow, t *Task, i int, slab *Slab) error {
	n := &t.Nodes[i]
	n.After = w.after
	for k := range n.After {
		e := &n.After[k]
		e.From = r.nodeOf[r.rowNamed(w.sources[k])]
		if e.Trigger != Output {
			continue
		}
		if from := &t.Nodes[e.From]; from.Kind != LLM || e.AtOutput > from.OutputTokens {
			return w.at.Fault("after.at_output", fmt.Sprint(e.AtOutput), fmt.Sprintf("at most %d: the output of %s", from.OutputTokens, from.ID))
		}
	}
	if n.Kind != LLM {
		return nil
	}
	return r.fill(w, t, i, slab)
}

// rowNamed is the row of a node of the task that is being built.
func (r *nativeReader) rowNamed(id string) int32 {
	if len(r.order) == 1 {
		return 0
	}
	return r.rowOf[id]
}

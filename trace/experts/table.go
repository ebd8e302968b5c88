package experts

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/trace"
)

// Hole stands for an id that is not known.
const Hole = math.MaxUint16

// Table is the expert ids of consecutive positions of a prompt and its output:
// Rows × Layers × TopK of them, position by position.
type Table struct {
	Rows, Layers, TopK int
	IDs                []uint16
}

// NewTable is a table of holes.
func NewTable(rows, layers, topK int) *Table {
	t := &Table{Rows: rows, Layers: layers, TopK: topK, IDs: make([]uint16, rows*layers*topK)}
	for i := range t.IDs {
		t.IDs[i] = Hole
	}
	return t
}

// rowLen is the number of ids of a position.
func (t *Table) rowLen() int { return t.Layers * t.TopK }

// Row is the ids of a position, layer by layer.
func (t *Table) Row(i int) []uint16 { return t.IDs[i*t.rowLen() : (i+1)*t.rowLen()] }

// Slice is the rows [from, to), which share their ids with t.
func (t *Table) Slice(from, to int) *Table {
	n := t.rowLen()
	return &Table{Rows: to - from, Layers: t.Layers, TopK: t.TopK, IDs: t.IDs[from*n : to*n]}
}

// Holes lists the stretches [first, last+1) of rows in which an id is not known,
// counted from base.
func (t *Table) Holes(base int32) (holes [][2]int32) {
	for i := range t.Rows {
		p := base + int32(i)
		switch n := len(holes); {
		case t.known(i):
		case n > 0 && holes[n-1][1] == p:
			holes[n-1][1]++
		default:
			holes = append(holes, [2]int32{p, p + 1})
		}
	}
	return holes
}

// Known is the number of rows in which every id is known.
func (t *Table) Known() (n int) {
	for i := range t.Rows {
		if t.known(i) {
			n++
		}
	}
	return n
}

func (t *Table) known(row int) bool {
	for _, id := range t.Row(row) {
		if id == Hole {
			return false
		}
	}
	return true
}

// sameShape makes sure that rows of u may stand beside those of t.
func (t *Table) sameShape(u *Table) error {
	if t.Layers != u.Layers || t.TopK != u.TopK {
		return fmt.Errorf("experts: %d layers × %d experts, expected %d × %d", u.Layers, u.TopK, t.Layers, t.TopK)
	}
	return nil
}

// Positions is the number of positions that a call computes: all of its prompt and
// its output but the last, which no pass reads (spec/vllm-cpu-live.md 6).
func Positions(n *trace.Node) int { return max(0, int(n.InputTokens)+int(n.OutputTokens)-1) }

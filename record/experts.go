package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
)

// routed is the expert ids of a recording on their way into the file beside its trace.
type routed struct {
	blobs *os.File
	calls int
	notes []string
	bySeq map[int64]*graph.Call
	out   *experts.Writer // nil until there are some
	path  string
}

// addExperts writes the expert ids of all calls that have some, and says in their
// nodes where they are.
func addExperts(g *graph.Recording, blobPath, tracePath string) (*routed, error) {
	r := &routed{bySeq: map[int64]*graph.Call{}, path: experts.Path(tracePath)}
	byID := map[string]*graph.Call{}
	for i := range g.Calls {
		c := &g.Calls[i]
		r.bySeq[c.Seq] = c
		if c.Experts != nil && c.Node != "" {
			byID[c.Node] = c
		}
	}
	if len(byID) == 0 {
		return r, nil
	}
	var err error
	if r.blobs, err = os.Open(blobPath); err != nil {
		return nil, err
	}
	defer r.blobs.Close()
	if r.out, err = experts.Create(r.path); err != nil {
		return nil, err
	}
	for _, t := range g.Tasks {
		for i := range t.Nodes {
			if c := byID[t.Nodes[i].ID]; c != nil {
				r.add(&t.Nodes[i], c)
			}
		}
	}
	return r, nil
}

// add writes the rows of a call. Those that cannot be used are left out and told.
func (r *routed) add(n *trace.Node, c *graph.Call) {
	all, err := r.rows(c, len(r.bySeq))
	if err == nil && all.Rows > experts.Positions(n) {
		err = fmt.Errorf("%d rows, expected at most %d", all.Rows, experts.Positions(n))
	}
	if err != nil {
		r.notes = append(r.notes, fmt.Sprintf("expert ids of %s are left out: %v", n.ID, err))
		return
	}
	from := int32(0)
	if base := r.bySeq[c.Extends]; base != nil && base.Experts != nil {
		// The output that the base ends with is computed by the call that goes on from it.
		from = min(max(0, n.Keep-1), int32(all.Rows))
	}
	own := all.Slice(int(from), all.Rows)
	if err := r.out.Add(n.ID, own); err != nil {
		r.notes = append(r.notes, fmt.Sprintf("expert ids of %s are left out: %v", n.ID, err))
		return
	}
	n.Details.Experts = &trace.Experts{Key: n.ID, From: from, Holes: own.Holes(from)}
	r.calls++
}

// rows are the expert ids of a call from position 0 on: its own, and before them those
// of the call whose tokens its prompt keeps in the journal; deep bounds the way through
// a broken journal.
func (r *routed) rows(c *graph.Call, deep int) (*experts.Table, error) {
	own, err := r.own(c.Experts)
	if err != nil || c.Experts.From == 0 {
		return own, err
	}
	all := experts.NewTable(int(c.Experts.From)+own.Rows, own.Layers, own.TopK)
	copy(all.Slice(int(c.Experts.From), all.Rows).IDs, own.IDs)
	if c.IDs == nil || deep == 0 {
		return all, nil
	}
	base := r.bySeq[c.IDs.Base]
	if base == nil || base.Experts == nil {
		return all, nil
	}
	before, err := r.rows(base, deep-1)
	if err != nil || before.Layers != all.Layers || before.TopK != all.TopK {
		return all, err
	}
	n := min(int(c.Experts.From), before.Rows)
	copy(all.Slice(0, n).IDs, before.Slice(0, n).IDs)
	return all, nil
}

// own reads the rows that a call has in the file beside the journal.
func (r *routed) own(e *journal.Experts) (*experts.Table, error) {
	info, err := r.blobs.Stat()
	if err != nil {
		return nil, err
	}
	size, rowLen := info.Size(), int64(e.Layers)*int64(e.TopK)
	if e.From < 0 || e.Rows < 0 || rowLen <= 0 || rowLen > size || e.Offset < 0 || int64(e.Rows) > (size-e.Offset)/2/rowLen {
		return nil, errors.New("they are not in the file beside the journal")
	}
	packed := make([]byte, 2*int64(e.Rows)*rowLen)
	if _, err := r.blobs.ReadAt(packed, e.Offset); err != nil {
		return nil, err
	}
	t := &experts.Table{Rows: int(e.Rows), Layers: int(e.Layers), TopK: int(e.TopK), IDs: make([]uint16, len(packed)/2)}
	for i := range t.IDs {
		t.IDs[i] = binary.LittleEndian.Uint16(packed[2*i:])
	}
	return t, nil
}

// close completes the file. What an earlier recording left under its name goes.
func (r *routed) close() error {
	if r.out != nil && r.calls > 0 {
		return r.out.Close()
	}
	err := os.Remove(r.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, r.abort())
}

// abort drops the file.
func (r *routed) abort() error {
	if r.out == nil {
		return nil
	}
	return r.out.Abort()
}

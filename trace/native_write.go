package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// Writer writes the native format. What it has written reads back to the same
// tasks, and those are written as the same bytes again.
type Writer struct {
	header Header
	out    io.Writer
	close  func() error
	abort  func() error
	line   jsonrow.Line
	turns  map[string]int32  // calls of the task so far, by session
	scopes map[string]uint64 // of block ids, by what they are valid in
}

// Create starts a file in the native format: plain or, if the name ends in .gz or
// .zst, compressed. The file has its name only when the writer has been closed.
func Create(path string, h Header) (*Writer, error) {
	f, err := linefile.Create(path)
	if err != nil {
		return nil, err
	}
	w := newWriter(h, f, f.Close, f.Abort)
	if err := w.begin(); err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	return w, nil
}

// NewWriter writes the native format to w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	b := bufio.NewWriterSize(w, 1<<16)
	n := newWriter(h, b, b.Flush, func() error { return nil })
	if err := n.begin(); err != nil {
		return nil, err
	}
	return n, nil
}

func newWriter(h Header, out io.Writer, close, abort func() error) *Writer {
	return &Writer{header: h, out: out, close: close, abort: abort, turns: map[string]int32{}, scopes: map[string]uint64{}}
}

// Close completes the trace.
func (w *Writer) Close() error { return w.close() }

// Abort drops what has been written to a file.
func (w *Writer) Abort() error { return w.abort() }

// begin writes the header line.
func (w *Writer) begin() error {
	h := &w.header
	w.line.Begin()
	w.line.Text("schema", nativeSchema)
	w.line.Int("version", nativeVersion)
	w.line.Count("block_size", int64(h.BlockSize))
	w.line.Optional("ids", h.IDs)
	w.line.Optional("ids_cover", h.IDsCover)
	w.line.Optional("model", h.Model)
	w.line.Optional("tokenizer", h.Tokenizer)
	w.line.Optional("template", h.Template)
	if h.Source != (Origin{}) {
		w.line.Open("source", '{')
		w.line.Optional("format", h.Source.Format)
		w.line.Optional("digest", h.Source.Digest)
		w.line.Shut('}')
	}
	w.line.Optional("incomplete", h.Incomplete)
	text, err := w.line.End()
	if err == nil {
		_, err = w.out.Write(text)
	}
	return err
}

// Write adds a task, one node a line.
func (w *Writer) Write(t *Task) error {
	clear(w.turns)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if !ordered(n, int32(i)) {
			return fmt.Errorf("node %s: refers to a node that does not come before it", n.ID)
		}
		w.line.Begin()
		w.node(t, n)
		text, err := w.line.End()
		if err != nil {
			return fmt.Errorf("node %s: %w", n.ID, err)
		}
		if _, err := w.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// ordered is whether node i refers only to nodes before it.
func ordered(n *Node, i int32) bool {
	for _, e := range n.After {
		if e.From < 0 || e.From >= i {
			return false
		}
	}
	return n.Extends >= -1 && n.Extends < i
}

// node writes the fields of a node.
func (w *Writer) node(t *Task, n *Node) {
	d := n.Details
	if d == nil {
		d = &Details{}
	}
	w.line.Text("id", n.ID)
	session := ""
	if t.ID != n.ID {
		w.line.Text("task", t.ID)
		session = t.ID
	}
	if n.Session != session {
		w.line.Text("session", n.Session)
	}
	w.line.Text("kind", n.Kind.String())
	w.line.Optional("model", d.Model)
	w.line.Count("attempt", int64(d.Attempt))
	w.turn(n)
	w.after(t, n)
	w.start(t, n)
	if n.Kind == LLM {
		w.input(t, n)
		w.output(n, d.Finish)
	}
	w.line.Raw("sampling", d.Sampling)
	w.line.Count("priority", int64(n.Priority))
	w.line.Count("strict_priority", int64(d.StrictPriority))
	w.line.Optional("class", d.Class)
	if d.Accepted != nil {
		jsonrow.List(&w.line, "accepted", d.Accepted)
	}
	w.experts(d.Experts)
	w.line.Optional("name", n.Name)
	if n.Kind != LLM {
		w.line.Time("duration_ms", n.DurationMs)
	}
	w.line.Raw("args", d.Args)
	w.line.Raw("result", d.Result)
	w.line.Raw("messages", d.Messages)
	w.recorded(d.Recorded)
}

// turn writes which turn of its session a call is, unless that is the number of the
// session's calls before it in the task.
func (w *Writer) turn(n *Node) {
	turn := int32(0)
	if n.Kind == LLM && n.Session != "" {
		turn = w.turns[n.Session]
		w.turns[n.Session]++
	}
	if n.Turn != turn {
		w.line.Int("turn", int64(n.Turn))
	}
}

// after writes what a node waits for.
func (w *Writer) after(t *Task, n *Node) {
	if len(n.After) == 0 {
		return
	}
	w.line.Open("after", '[')
	for i := range n.After {
		e := &n.After[i]
		w.line.Element()
		w.line.Text("id", t.Nodes[e.From].ID)
		if e.Trigger != Completion {
			w.line.Text("trigger", e.Trigger.String())
		}
		w.line.Count("at_output", int64(e.AtOutput))
		if e.DelayMs != 0 {
			w.line.Time("delay_ms", e.DelayMs)
		}
		if e.Inferred {
			w.line.True("inferred")
		}
		w.line.Shut('}')
	}
	w.line.Shut(']')
}

// start writes the earliest start of a node, from the trace's origin. A node that
// waits for nothing says when its task is released.
func (w *Writer) start(t *Task, n *Node) {
	switch untimed := math.IsNaN(t.ReleaseMs); {
	case untimed && n.NotBeforeMs > 0:
		w.line.Refuse("not_before_ms: the task has no release that it could count from")
	case !untimed && (len(n.After) == 0 || n.NotBeforeMs > 0):
		w.line.Time("not_before_ms", t.ReleaseMs+n.NotBeforeMs)
	}
}

// experts writes where expert ids are kept.
func (w *Writer) experts(e *Experts) {
	if e == nil {
		return
	}
	w.line.Open("experts", '{')
	w.line.Text("key", e.Key)
	w.line.Int("from", int64(e.From))
	if len(e.Holes) > 0 {
		w.line.Open("holes", '[')
		for _, h := range e.Holes {
			jsonrow.ListElement(&w.line, h[:])
		}
		w.line.Shut(']')
	}
	w.line.Shut('}')
}

// recorded writes what the recording saw.
func (w *Writer) recorded(r *Recorded) {
	if r == nil || math.IsNaN(r.StartMs) && math.IsNaN(r.FirstTokenMs) && math.IsNaN(r.EndMs) && r.IDs == "" {
		return
	}
	w.line.Open("recorded", '{')
	for _, m := range []struct {
		name string
		ms   float64
	}{{"start_ms", r.StartMs}, {"first_token_ms", r.FirstTokenMs}, {"end_ms", r.EndMs}} {
		if !math.IsNaN(m.ms) {
			w.line.Time(m.name, m.ms)
		}
	}
	w.line.Optional("ids", r.IDs)
	w.line.Shut('}')
}

package mooncake

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// Writer writes tasks that are single calls or sessions in this format. It refuses
// what the format cannot say: tools and waits, other edges than from turn to turn,
// prompts that are not blocks of one size with ids that are valid everywhere, and
// what was recorded beside lengths, ids and starts. The id of a task without a
// session is not kept.
type Writer struct {
	header   trace.Header
	out      io.Writer
	close    func() error
	abort    func() error
	line     jsonrow.Line
	rows     int64 // written
	lastMs   float64
	sessions map[uint64]struct{} // met, by identity
}

// Create starts a file: plain or, if the name ends in .gz or .zst, compressed. The
// file has its name only when the writer has been closed.
func Create(path string, h trace.Header) (*Writer, error) {
	f, err := linefile.Create(path)
	if err != nil {
		return nil, err
	}
	return &Writer{header: h, out: f, close: f.Close, abort: f.Abort, sessions: map[uint64]struct{}{}}, nil
}

// NewWriter writes to w.
func NewWriter(w io.Writer, h trace.Header) *Writer {
	b := bufio.NewWriterSize(w, 1<<16)
	return &Writer{header: h, out: b, close: b.Flush, abort: func() error { return nil }, sessions: map[uint64]struct{}{}}
}

// Close completes the trace.
func (w *Writer) Close() error { return w.close() }

// Abort drops what has been written to a file.
func (w *Writer) Abort() error { return w.abort() }

// Write adds a task, one call a line.
func (w *Writer) Write(t *trace.Task) error {
	if err := w.session(t); err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		err := sayable(n, i)
		if err == nil {
			err = w.row(t, n, i)
		}
		var text []byte
		if err == nil {
			text, err = w.line.End()
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.ID, err)
		}
		if _, err := w.out.Write(text); err != nil {
			return err
		}
		w.rows++
	}
	return nil
}

// session makes sure that the rows of a task read back as one task.
func (w *Writer) session(t *trace.Task) error {
	name := t.Nodes[0].Session
	for i := range t.Nodes {
		if t.Nodes[i].Session != name {
			return fmt.Errorf("session %q beside %q, expected one session", t.Nodes[i].Session, name)
		}
	}
	switch {
	case name == "" && len(t.Nodes) == 1:
		return nil
	case name != t.ID:
		return fmt.Errorf("session %q, expected the id of the task", name)
	}
	id := token.Identity(name)
	if _, ok := w.sessions[id]; ok {
		return fmt.Errorf("session %q: expected one task only", name)
	}
	w.sessions[id] = struct{}{}
	return nil
}

// sayable refuses a node that is not turn i of a chain of calls, or that has fields
// the format has not.
func sayable(n *trace.Node, i int) error {
	switch {
	case n.Kind != trace.LLM:
		return fmt.Errorf("kind: found %v, expected llm", n.Kind)
	case i == 0 && len(n.After) > 0, i > 0 && len(n.After) != 1:
		return fmt.Errorf("after: found %d nodes, expected the turn before", len(n.After))
	case i > 0 && (n.After[0].From != int32(i)-1 || n.After[0].Trigger != trace.Completion):
		return fmt.Errorf("after: found a trigger %v, expected the completion of the turn before", n.After[0].Trigger)
	case n.NotBeforeMs > 0:
		return fmt.Errorf("not_before_ms: found %v, expected none", n.NotBeforeMs)
	case n.Turn != int32(i):
		return fmt.Errorf("turn: found %d, expected %d", n.Turn, i)
	}
	d := n.Details
	if d == nil {
		return nil
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"model", d.Model != ""}, {"attempt", d.Attempt != 0}, {"finish", d.Finish != ""}, {"accepted", d.Accepted != nil},
		{"experts", d.Experts != nil}, {"sampling", d.Sampling != nil}, {"messages", d.Messages != nil}, {"args", d.Args != nil},
		{"result", d.Result != nil}, {"recorded", d.Recorded != nil && !(i > 0 && onlyStart(d.Recorded))},
	} {
		if f.set {
			return fmt.Errorf("%s: the format has no such field", f.name)
		}
	}
	return nil
}

// onlyStart is whether nothing but a start was recorded.
func onlyStart(r *trace.Recorded) bool {
	return math.IsNaN(r.FirstTokenMs) && math.IsNaN(r.EndMs)
}

// row builds the line of a node.
func (w *Writer) row(t *trace.Task, n *trace.Node, i int) error {
	w.line.Begin()
	ms := t.ReleaseMs
	d := n.Details
	if i > 0 {
		ms = math.NaN()
		if d != nil && d.Recorded != nil {
			ms = d.Recorded.StartMs
		}
	}
	if !math.IsNaN(ms) {
		w.line.Time("timestamp", ms)
	}
	w.line.Int("input_length", int64(n.InputTokens))
	w.line.Int("output_length", int64(n.OutputTokens))
	if err := w.content(n); err != nil {
		return err
	}
	w.names(n, i)
	if i > 0 {
		w.delay(&n.After[0], ms)
	}
	if i == 0 || !math.IsNaN(ms) {
		w.lastMs = ms
	}
	w.line.Count("priority", int64(n.Priority))
	if d != nil {
		w.line.Count("strict_priority", int64(d.StrictPriority))
		w.line.Optional("policy_class", d.Class)
	}
	return nil
}

// names writes the session and, if a reader would not find the same name, the id of
// the node.
func (w *Writer) names(n *trace.Node, i int) {
	name := "line:" + strconv.FormatInt(w.rows, 10)
	if n.Session != "" {
		w.line.Text("session_id", n.Session)
		name = n.Session + ":" + strconv.Itoa(i)
	}
	if n.ID != name {
		w.line.Text("request_id", n.ID)
	}
}

// delay writes the pause before a turn, unless it is what a reader takes from the
// starts.
func (w *Writer) delay(e *trace.Edge, ms float64) {
	if e.Inferred && ms-w.lastMs == e.DelayMs {
		return
	}
	w.line.Time("delay", e.DelayMs)
}

// content writes block ids and output ids.
func (w *Writer) content(n *trace.Node) error {
	blocks, err := w.blocks(n)
	if err != nil {
		return err
	}
	if blocks != nil {
		jsonrow.List(&w.line, "hash_ids", blocks)
	}
	if n.Output == nil {
		return nil
	}
	switch l := n.Output.Leaf(); {
	case l.Tokens != nil:
		jsonrow.List(&w.line, "output_token_ids", l.Tokens)
	case l.BlockIDs != nil || l.Stream != trace.Generated(n.ID, 0).Leaf().Stream:
		return fmt.Errorf("output: found tokens of another node, expected token ids")
	}
	return nil
}

// blocks are the ids of a prompt, nil if it has none.
func (w *Writer) blocks(n *trace.Node) ([]uint64, error) {
	if n.Input == nil {
		return nil, nil
	}
	l, covered := n.Input.Leaf(), n.Input
	private := l.BlockIDs == nil && l.Tokens == nil && l.Stream == trace.PrivatePrompt(n.ID, 0).Leaf().Stream
	if private {
		if covered, _ = n.Input.Parent(); covered == nil {
			return nil, nil
		}
		l = covered.Leaf()
	}
	full := w.header.IDsCover == trace.CoverFull
	parent, _ := covered.Parent()
	switch {
	case parent != nil || l.BlockIDs == nil:
		return nil, fmt.Errorf("input: found a prompt that is not a list of block ids, expected one")
	case l.Scope != 0:
		return nil, fmt.Errorf("hash_ids: they are valid in one file or session, expected everywhere")
	case l.BlockSize != w.header.BlockSize:
		return nil, fmt.Errorf("hash_ids: found blocks of %d tokens, expected %d as in the header", l.BlockSize, w.header.BlockSize)
	case !full && private, full && l.Length != int(n.InputTokens)/l.BlockSize*l.BlockSize:
		return nil, fmt.Errorf("hash_ids: they cover %d of %d tokens, expected all %s blocks", l.Length, n.InputTokens, w.header.IDsCover)
	}
	return l.BlockIDs, nil
}

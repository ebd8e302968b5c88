package trace

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// nativeRow is what one line of the native format says.
type nativeRow struct {
	at   Place
	task string
	node Node // but for what depends on other nodes; no edges yet
	// startMs is the earliest start from the trace's origin, NaN if there is none.
	startMs float64
	// after and sources are what the node waits for: edges without their From, and
	// the ids of the nodes they come from.
	after   []Edge
	sources []string
	extends string
	input   content
	output  content
	named   struct{ session, turn bool } // given, not left to the default
}

var (
	nodeFields = []string{"id", "task", "session", "kind", "model", "attempt", "turn", "after", "not_before_ms", "input", "output",
		"sampling", "priority", "strict_priority", "class", "accepted", "experts", "name", "duration_ms", "args", "result", "messages", "recorded"}
	edgeFields = []string{"id", "trigger", "at_output", "delay_ms", "inferred"}
)

// Parse reads one line.
func (r *nativeReader) Parse(line []byte, at Place, w *nativeRow, slab *Slab) error {
	r.scan.Reset(line)
	w.at, w.startMs = at, Untimed()
	w.node.Line, w.node.Extends = at.Line, -1
	m := jsonrow.Members{Names: nodeFields}
	for r.scan.Open(); r.scan.Member(&m); {
		r.member(m.Name, w, slab)
	}
	r.scan.Close()
	r.complete(&m, w)
	if f := r.scan.Fault(); f != nil {
		return at.Fault(f.Field, f.Value, f.Want)
	}
	return nil
}

// member reads one field of a node.
func (r *nativeReader) member(name string, w *nativeRow, slab *Slab) {
	s, n := &r.scan, &w.node
	switch name {
	case "id":
		n.ID = r.name(slab)
	case "task":
		w.task = r.name(slab)
	case "session":
		n.Session, w.named.session = slab.Text(s.Text(wantText)), true
	case "kind":
		n.Kind = Kind(r.word(kindNames[:]))
	case "turn":
		n.Turn, w.named.turn = s.Count(wantCount), true
	case "after":
		r.after(w, slab)
	case "not_before_ms":
		w.startMs = s.Time(wantMs)
	case "input":
		r.input(w, slab)
	case "output":
		r.output(w, slab)
	case "priority":
		n.Priority = int32(s.Int(math.MinInt32, math.MaxInt32, wantInt32))
	case "name":
		n.Name = slab.Text(s.Text(wantText))
	case "duration_ms":
		n.DurationMs = s.Time(wantMs)
	default:
		if n.Details == nil {
			n.Details = slab.Details()
		}
		r.detail(name, n.Details, slab)
	}
}

// name reads an id, which must not be empty.
func (r *nativeReader) name(slab *Slab) string {
	text := r.scan.Text(wantName)
	if len(text) == 0 {
		r.scan.Fail("", `""`, wantName)
	}
	return slab.Text(text)
}

// word reads one of the known words and returns its number.
func (r *nativeReader) word(known []string) int {
	text := r.scan.Text("one of the known words")
	for i, k := range known {
		if string(text) == k {
			return i
		}
	}
	r.scan.Fail("", jsonrow.Excerpt(text), fmt.Sprintf("one of %q", known))
	return 0
}

// after reads what a node waits for.
func (r *nativeReader) after(w *nativeRow, slab *Slab) {
	s := &r.scan
	r.edges, r.sources = r.edges[:0], r.sources[:0]
	for s.OpenArray("an array in []"); s.More(); {
		var e Edge
		var source string
		m := jsonrow.Members{Names: edgeFields}
		for s.Open(); s.Member(&m); {
			switch m.Name {
			case "id":
				source = r.name(slab)
			case "trigger":
				e.Trigger = Trigger(r.word(triggerNames[:]))
			case "at_output":
				e.AtOutput = int32(s.Int(1, math.MaxInt32, "an output position, from 1"))
			case "delay_ms":
				e.DelayMs = s.Time(wantMs)
			case "inferred":
				e.Inferred = s.Bool(wantBool)
			}
		}
		if !m.Has("id") {
			s.Missing("id", "the node to wait for")
		}
		if m.Has("at_output") != (e.Trigger == Output) {
			s.Fail("at_output", fmt.Sprint(e.AtOutput), "it with the trigger output, and only there")
		}
		r.edges = append(r.edges, e)
		r.sources = append(r.sources, source)
	}
	w.after = slab.Edges(len(r.edges))
	copy(w.after, r.edges)
	w.sources = slab.sources.take(len(r.sources), nodeChunk, slab.recycle)
	copy(w.sources, r.sources)
}

// complete makes sure that a node has what its kind needs, and fills in defaults.
func (r *nativeReader) complete(m *jsonrow.Members, w *nativeRow) {
	s := &r.scan
	need := func(name, want string) {
		if !m.Has(name) {
			s.Missing(name, want)
		}
	}
	only := func(kind string, names ...string) {
		for _, name := range names {
			if m.Has(name) {
				s.Fail(name, "it on a node of kind "+w.node.Kind.String(), "it on a node of kind "+kind)
			}
		}
	}
	need("id", wantName)
	need("kind", "llm, tool or think")
	if w.node.Kind == LLM {
		need("input", "what goes into the call")
		need("output", "what comes out of the call")
		only("tool or think", "duration_ms")
	} else {
		need("duration_ms", wantMs)
		only("llm", "input", "output", "sampling", "accepted", "experts", "messages")
	}
	if !m.Has("task") {
		w.task = w.node.ID
	} else if !w.named.session {
		w.node.Session = w.task
	}
}

// Package tracetest is what tests of trace readers share: traces told as text, and
// the laws that every reader has to keep.
package tracetest

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// File writes a file for a test and returns its path.
func File(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Tasks reads all tasks of a trace.
func Tasks(t testing.TB, tr trace.Trace) []*trace.Task {
	t.Helper()
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var tasks []*trace.Task
	for {
		task, err := src.Next()
		if err == io.EOF {
			return tasks
		}
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
}

// Report tells a trace's report as text, without file names and digests.
func Report(r *trace.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows: %d tasks, %d calls, %d + %d tokens, from %v to %v ms", r.Rows, r.Tasks, r.Calls, r.InputTokens, r.OutputTokens, r.FirstMs, r.LastMs)
	if r.Untimed > 0 {
		fmt.Fprintf(&b, ", %d untimed", r.Untimed)
	}
	if r.OutOfOrder > 0 {
		fmt.Fprintf(&b, ", %d rows out of order", r.OutOfOrder)
	}
	if r.Independent {
		b.WriteString(", independent")
	}
	b.WriteByte('\n')
	for _, l := range r.LeftOut {
		fmt.Fprintf(&b, "left out: %d rows, %s\n", l.Rows, l.Reason)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// Story tells tasks as text, a line for each task and each node.
func Story(tasks []*trace.Task) string {
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "%s at %v\n", t.ID, t.ReleaseMs)
		for i := range t.Nodes {
			b.WriteString("  ")
			node(&b, t, &t.Nodes[i])
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// node tells one node.
func node(b *strings.Builder, t *trace.Task, n *trace.Node) {
	fmt.Fprintf(b, "%s", n.ID)
	if n.Kind == trace.LLM {
		fmt.Fprintf(b, ": %d/%d", n.InputTokens, n.OutputTokens)
	} else {
		fmt.Fprintf(b, ": %v %s %v ms", n.Kind, n.Name, n.DurationMs)
	}
	if n.Session != "" {
		fmt.Fprintf(b, ", session %s turn %d", n.Session, n.Turn)
	}
	if n.NotBeforeMs > 0 {
		fmt.Fprintf(b, ", not before %v", n.NotBeforeMs)
	}
	for _, e := range n.After {
		fmt.Fprintf(b, ", after %s of %s", e.Trigger, t.Nodes[e.From].ID)
		if e.Trigger == trace.Output {
			fmt.Fprintf(b, " at %d", e.AtOutput)
		}
		fmt.Fprintf(b, " +%v", e.DelayMs)
		if e.Inferred {
			b.WriteString(" inferred")
		}
	}
	if n.Extends >= 0 {
		fmt.Fprintf(b, ", keeps %d of %s", n.Keep, t.Nodes[n.Extends].ID)
	}
	if n.Priority != 0 {
		fmt.Fprintf(b, ", priority %d", n.Priority)
	}
	if n.Input.Len() > 0 {
		fmt.Fprintf(b, ", in %s", content(n.Input))
	}
	if n.Output.Len() > 0 {
		fmt.Fprintf(b, ", out %s", content(n.Output))
	}
	details(b, n.Details)
}

// details tells the rarer fields of a node.
func details(b *strings.Builder, d *trace.Details) {
	if d == nil {
		return
	}
	say := func(name string, value any, set bool) {
		if set {
			fmt.Fprintf(b, ", %s %v", name, value)
		}
	}
	say("model", d.Model, d.Model != "")
	say("attempt", d.Attempt, d.Attempt != 0)
	say("class", d.Class, d.Class != "")
	say("strict priority", d.StrictPriority, d.StrictPriority != 0)
	say("finish", d.Finish, d.Finish != "")
	say("accepted", d.Accepted, d.Accepted != nil)
	say("sampling", string(d.Sampling), d.Sampling != nil)
	say("messages", string(d.Messages), d.Messages != nil)
	say("args", string(d.Args), d.Args != nil)
	say("result", string(d.Result), d.Result != nil)
	if e := d.Experts; e != nil {
		say("experts", fmt.Sprintf("%s from %d holes %v", e.Key, e.From, e.Holes), true)
	}
	if r := d.Recorded; r != nil {
		say("recorded from", r.StartMs, !math.IsNaN(r.StartMs))
		say("first token", r.FirstTokenMs, !math.IsNaN(r.FirstTokenMs))
		say("to", r.EndMs, !math.IsNaN(r.EndMs))
		say("ids from", r.IDs, r.IDs != "")
	}
}

// content tells a sequence: its pieces, first tokens first.
func content(s *token.Seq) string {
	var pieces []string
	for end := s.Len(); s != nil && end > 0; {
		parent, from := s.Parent()
		if end > from {
			pieces = append([]string{piece(s.Leaf(), end-from)}, pieces...)
			end = from
		}
		s = parent
	}
	return strings.Join(pieces, "+")
}

func piece(l token.Leaf, n int) string {
	switch {
	case l.BlockIDs != nil:
		ids := l.BlockIDs[:min(len(l.BlockIDs), (n+l.BlockSize-1)/l.BlockSize)]
		if l.Scope != 0 {
			return fmt.Sprintf("blocks%v of a scope", ids)
		}
		return fmt.Sprintf("blocks%v", ids)
	case l.Tokens != nil:
		return fmt.Sprint(l.Tokens[:n])
	}
	return fmt.Sprintf("%d of its own", n)
}

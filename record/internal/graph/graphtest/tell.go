// Package graphtest tells, for tests only, what has become of a journal: its tasks as
// lines that a story can hold.
package graphtest

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/trace"
)

// Tell is the tasks of a recording with what each node waits for, then the calls that
// are left out, and notes. With messages the text of calls is in it.
func Tell(r *graph.Recording, messages bool) string {
	var b strings.Builder
	for _, task := range r.Tasks {
		fmt.Fprintf(&b, "task %s\n", task.ID)
		for i := range task.Nodes {
			tellNode(&b, task, &task.Nodes[i], messages)
		}
	}
	for _, c := range r.Calls {
		if c.LeftOut != "" {
			fmt.Fprintf(&b, "left out: call %d, %s %s\n", c.Seq, c.LeftOut, c.Reason)
		}
	}
	for _, note := range append(r.Notes, r.Incomplete()...) {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if r.Unrecorded > 0 {
		fmt.Fprintf(&b, "others: %d\n", r.Unrecorded)
	}
	return b.String()
}

func tellNode(b *strings.Builder, task *trace.Task, n *trace.Node, messages bool) {
	d := n.Details
	fmt.Fprintf(b, "  %s %s session=%s %v-%v", n.Kind, n.ID, n.Session, d.Recorded.StartMs, d.Recorded.EndMs)
	if n.Name != "" {
		fmt.Fprintf(b, " name=%s args=%s result=%s", n.Name, d.Args, d.Result)
	}
	if n.Kind == trace.LLM {
		fmt.Fprintf(b, " tokens=%d+%d keep=%d", n.InputTokens, n.OutputTokens, n.Keep)
	}
	if d.Attempt > 0 {
		fmt.Fprintf(b, " attempt=%d", d.Attempt)
	}
	b.WriteString("\n")
	for _, e := range n.After {
		fmt.Fprintf(b, "    after %s", task.Nodes[e.From].ID)
		switch e.Trigger {
		case trace.Dispatch:
			b.WriteString(" has started")
		case trace.Output:
			fmt.Fprintf(b, " has said %d", e.AtOutput)
		}
		if e.DelayMs != 0 {
			fmt.Fprintf(b, " +%v", e.DelayMs)
		}
		if e.Inferred {
			b.WriteString(" (inferred)")
		}
		b.WriteString("\n")
	}
	if d.Messages != nil && messages {
		fmt.Fprintf(b, "    %s\n", d.Messages)
	}
}

package tracetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/reprise-sim/reprise/trace"
)

// Check fails the test unless streaming tr gives what its report says, in order, and
// every task is well formed.
func Check(t testing.TB, tr trace.Trace) {
	t.Helper()
	got := trace.Report{Independent: true}
	seen := map[string]bool{}
	last := math.Inf(-1)
	for _, task := range Tasks(t, tr) {
		got.Tasks++
		if math.IsNaN(task.ReleaseMs) {
			got.Untimed++
			if last > math.Inf(-1) {
				t.Errorf("task %s without a time comes after one at %v", task.ID, last)
			}
		} else {
			if task.ReleaseMs < last {
				t.Errorf("task %s at %v comes after one at %v", task.ID, task.ReleaseMs, last)
			}
			last = task.ReleaseMs
		}
		if err := wellFormed(task); err != nil {
			t.Errorf("task %s: %v", task.ID, err)
		}
		for i := range task.Nodes {
			n := &task.Nodes[i]
			if seen[n.ID] {
				t.Errorf("id %s comes twice", n.ID)
			}
			seen[n.ID] = true
			if n.Kind == trace.LLM {
				got.Calls++
				got.InputTokens += int64(n.InputTokens)
				got.OutputTokens += int64(n.OutputTokens)
			}
		}
		got.Independent = got.Independent && len(task.Nodes) == 1 && task.Nodes[0].Kind == trace.LLM
	}
	r := tr.Report()
	if got.Tasks != r.Tasks || got.Calls != r.Calls || got.InputTokens != r.InputTokens || got.OutputTokens != r.OutputTokens ||
		got.Untimed != r.Untimed || got.Independent != r.Independent {
		t.Errorf("streamed %s report  %s", Report(&got), Report(r))
	}
	if got.Tasks > got.Untimed && last != r.LastMs {
		t.Errorf("the last task is released at %v, the report says %v", last, r.LastMs)
	}
}

// wellFormed is what every reader owes: order, edges, lengths.
func wellFormed(t *trace.Task) error {
	if len(t.Nodes) == 0 {
		return fmt.Errorf("no nodes")
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		for _, e := range n.After {
			if e.From < 0 || int(e.From) >= i {
				return fmt.Errorf("node %s waits for node %d, which does not come before", n.ID, e.From)
			}
			if !(e.DelayMs >= 0) {
				return fmt.Errorf("node %s: delay %v", n.ID, e.DelayMs)
			}
		}
		switch {
		case n.Extends >= int32(i):
			return fmt.Errorf("node %s extends node %d, which does not come before", n.ID, n.Extends)
		case n.Extends < 0 && n.Keep != 0:
			return fmt.Errorf("node %s keeps %d tokens of nothing", n.ID, n.Keep)
		case n.Input != nil && n.Input.Len() != int(n.InputTokens):
			return fmt.Errorf("node %s: %d tokens of input, expected %d", n.ID, n.Input.Len(), n.InputTokens)
		case n.Output != nil && n.Output.Len() != int(n.OutputTokens):
			return fmt.Errorf("node %s: %d tokens of output, expected %d", n.ID, n.Output.Len(), n.OutputTokens)
		case !(n.NotBeforeMs >= 0) || !(n.DurationMs >= 0):
			return fmt.Errorf("node %s: not before %v, duration %v", n.ID, n.NotBeforeMs, n.DurationMs)
		}
	}
	return nil
}

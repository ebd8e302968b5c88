package workload

import (
	"fmt"
	"io"
	"math"

	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
)

// check says why a trace cannot arrive as the settings want.
func check(t trace.Trace, s Settings) error {
	switch r := t.Report(); {
	case r.Calls > math.MaxInt32:
		return fmt.Errorf("trace: got %d calls, expected at most %d", r.Calls, math.MaxInt32)
	case s.Mode == ModeTrace && r.Untimed > 0:
		return refuseUntimed(t)
	case s.Mode == ModeTrace && s.span(r) > trace.MaxMs:
		return &setting.Error{Field: "arrival.speedup", Value: s.Speedup,
			Want: fmt.Sprintf("more: the last task would arrive at %v ms, more than %g", s.span(r), float64(trace.MaxMs))}
	case s.Mode == ModeTrace && s.Turns == TurnsRecorded:
		return checkRecordedStarts(t)
	}
	return nil
}

// refuseUntimed names the first of the tasks without a time.
func refuseUntimed(t trace.Trace) error {
	source, err := t.Tasks()
	if err != nil {
		return err
	}
	defer source.Close()
	for {
		task, err := source.Next()
		if err != nil {
			return fmt.Errorf("trace: %w", err)
		}
		if math.IsNaN(task.ReleaseMs) {
			r := t.Report()
			return &setting.Error{Field: "arrival.mode", Value: ModeTrace,
				Want: fmt.Sprintf("an arrival timestamp of each task (%d of %d have none, the first is %q, line %d), or mode concurrency",
					r.Untimed, r.Tasks, task.ID, task.Nodes[0].Line)}
		}
	}
}

// span is when the last task of a trace arrives at recorded times.
func (s *Settings) span(r *trace.Report) float64 {
	if s.Origin == OriginFirst {
		return (r.LastMs - r.FirstMs) / s.Speedup
	}
	return r.LastMs / s.Speedup
}

// checkRecordedStarts reads a trace and refuses calls without a recorded start.
func checkRecordedStarts(t trace.Trace) error {
	source, err := t.Tasks()
	if err != nil {
		return err
	}
	defer source.Close()
	var first trace.Node
	lacking := 0
	for {
		task, err := source.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("trace: %w", err)
		}
		for i := range task.Nodes {
			if lacksRecordedStart(&task.Nodes[i]) {
				if lacking == 0 {
					first = task.Nodes[i]
				}
				lacking++
			}
		}
	}
	if lacking == 0 {
		return nil
	}
	return &setting.Error{Field: "arrival.turns", Value: TurnsRecorded,
		Want: fmt.Sprintf("recorded.start_ms of each call that waits for others (%d have none, the first is node %q, line %d), or after_previous",
			lacking, first.ID, first.Line)}
}

// lacksRecordedStart is whether a call waits for others and nobody knows when it
// started. The first calls of a task start with the task.
func lacksRecordedStart(n *trace.Node) bool {
	if n.Kind != trace.LLM || len(n.After) == 0 {
		return false
	}
	return n.Details == nil || n.Details.Recorded == nil || !finite(n.Details.Recorded.StartMs)
}

// checkTask refuses a task that could not be played to its end: a node has to wait
// for nodes above it only, for a known time.
func checkTask(t *trace.Task, speedup float64) error {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if err := checkPause(n, "not_before_ms", n.NotBeforeMs, speedup); err != nil {
			return err
		}
		if err := checkPause(n, "duration_ms", n.DurationMs, speedup); err != nil {
			return err
		}
		for k := range n.After {
			e := &n.After[k]
			if e.From < 0 || int(e.From) >= i {
				return misplaced(t, int32(i), e.From)
			}
			if err := checkPause(n, "delay_ms", e.DelayMs, speedup); err != nil {
				return err
			}
		}
	}
	return nil
}

// misplaced is why a node may not wait for that one: it waits for itself, or the
// other does not stand above it.
func misplaced(t *trace.Task, i, from int32) error {
	n := &t.Nodes[i]
	if path := wayBack(t, from, i, make([]bool, len(t.Nodes))); path != nil {
		return fmt.Errorf("line %d: node %q: after: got %s, expected no node that waits for itself", n.Line, n.ID, n.ID+path.String())
	}
	return fmt.Errorf("line %d: node %q: after: got node number %d of the task, expected one of the %d above it", n.Line, n.ID, from, i)
}

// way is nodes each of which waits for the one after it.
type way []string

func (w way) String() string {
	const most = 8
	text := ""
	for i, id := range w {
		if i == most && len(w) > most+1 {
			return text + " waits for … waits for " + w[len(w)-1]
		}
		text += " waits for " + id
	}
	return text
}

// wayBack is a way from a node to goal along what nodes wait for, nil if there is
// none. seen are the nodes that have been tried.
func wayBack(t *trace.Task, from, goal int32, seen []bool) way {
	switch {
	case from < 0 || int(from) >= len(t.Nodes) || seen[from]:
		return nil
	case from == goal:
		return way{t.Nodes[from].ID}
	}
	seen[from] = true
	for _, e := range t.Nodes[from].After {
		if rest := wayBack(t, e.From, goal, seen); rest != nil {
			return append(way{t.Nodes[from].ID}, rest...)
		}
	}
	return nil
}

func checkPause(n *trace.Node, field string, ms, speedup float64) error {
	switch {
	case !(ms >= 0 && finite(ms)):
		return fmt.Errorf("line %d: node %q: %s: got %v, expected a finite number of at least 0", n.Line, n.ID, field, ms)
	case ms/speedup > trace.MaxMs:
		return fmt.Errorf("line %d: node %q: %s: got %v at speedup %v, expected at most %g ms", n.Line, n.ID, field, ms, speedup, float64(trace.MaxMs))
	}
	return nil
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

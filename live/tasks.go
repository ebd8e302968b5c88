package live

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
)

// Task is the figures of one task (spec/live.md F.4). Times are ms of the run.
type Task struct {
	ID                        string
	Calls                     int // in the trace
	Complete                  bool
	StartMs                   float64 // its first call was due
	EndMs                     float64 // its last call or tool that was run ended
	ModelMs                   float64 // sum over its calls of what the model took, see [rundir.LiveCall]
	ToolMs                    float64 // sum over its tools
	InputTokens, OutputTokens int64
}

// MakespanMs is what a user of the task waited.
func (t *Task) MakespanMs() float64 { return t.EndMs - t.StartMs }

// CumulativeMs is the time of the model and of the tools together.
func (t *Task) CumulativeMs() float64 { return t.ModelMs + t.ToolMs }

// taskBook follows tasks.
type taskBook struct {
	list  []*Task // in order of their starts
	open  map[*trace.Task]*openTask
	pause float64 // divides durations of tools
	runs  func(*trace.Node) bool
	tools bool // some tools are run, and may end behind the last call
}

type openTask struct {
	*Task
	left   int // calls that have not ended
	failed bool
}

// begin notes that a call of a task is due.
func (b *taskBook) begin(t *trace.Task, dueMs float64) {
	if b.open[t] != nil {
		return
	}
	task := &Task{ID: t.ID, Calls: t.Calls(), StartMs: dueMs, EndMs: dueMs}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == trace.Tool && !b.runs(n) {
			task.ToolMs += n.DurationMs / b.pause
		}
	}
	b.list = append(b.list, task)
	b.open[t] = &openTask{Task: task, left: task.Calls}
}

// end notes that a call has ended.
func (b *taskBook) end(t *trace.Task, n *trace.Node, s metrics.Status, modelMs, atMs float64) {
	task := b.open[t]
	task.left--
	task.EndMs = max(task.EndMs, atMs)
	task.ModelMs += modelMs
	task.InputTokens += int64(n.InputTokens)
	task.OutputTokens += int64(n.OutputTokens)
	task.failed = task.failed || s != metrics.Completed
	task.Complete = task.left == 0 && !task.failed
	if task.left == 0 && !b.tools {
		delete(b.open, t)
	}
}

// ran notes that a tool was run.
func (b *taskBook) ran(t *trace.Task, ms, endMs float64) {
	if task := b.open[t]; task != nil {
		task.ToolMs += ms
		task.EndMs = max(task.EndMs, endMs)
	}
}

// writeTasks writes tasks.csv.
func writeTasks(w io.Writer, tasks []*Task) error {
	c := csv.NewWriter(w)
	lines := [][]string{{"task_id", "calls", "complete", "start_ms", "end_ms", "makespan_ms", "model_ms", "tool_ms", "cumulative_ms", "input_tokens", "output_tokens"}}
	for _, t := range tasks {
		line := []string{t.ID, strconv.Itoa(t.Calls), strconv.FormatBool(t.Complete)}
		for _, ms := range []float64{t.StartMs, t.EndMs, t.MakespanMs(), t.ModelMs, t.ToolMs, t.CumulativeMs()} {
			line = append(line, cell(ms))
		}
		lines = append(lines, append(line, strconv.FormatInt(t.InputTokens, 10), strconv.FormatInt(t.OutputTokens, 10)))
	}
	return c.WriteAll(lines)
}

// cell is a number, nothing if it is undefined.
func cell(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

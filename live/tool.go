package live

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// toolLine is a tool that was run: a line of tools.jsonl.
type toolLine struct {
	Node       string `json:"node_id"`
	Task       string `json:"task_id"`
	Name       string `json:"name"`
	DueMs      number `json:"due_ms"`
	StartMs    number `json:"start_ms"`
	EndMs      number `json:"end_ms"`
	RecordedMs number `json:"recorded_ms"`
	Exit       int    `json:"exit"`            // of its command; −1: it could not be started or was killed
	Error      string `json:"error,omitempty"` // and why
}

// anyTool is the name of the command for tools without one of their own.
const anyTool = "*"

// command is what runs a tool, "" if its recorded time is waited for.
func (s *Settings) command(n *trace.Node) string {
	if s.Tools.Kind != PaceExecute || n.Kind != trace.Tool {
		return ""
	}
	if c, ok := s.ToolCommands[n.Name]; ok {
		return c
	}
	return s.ToolCommands[anyTool]
}

// killAfter is how long a command that was told to stop may keep its pipes open.
const killAfter = 2 * time.Second

// runTool runs a tool: its command by the shell, with the recorded arguments as its
// input. What it prints is not used, since the prompts are recorded ones. A tool that
// fails has ended like any other: agents go on from errors.
func (l *loop) runTool(c workload.Call, n *trace.Node) {
	line := toolLine{Node: n.ID, Task: c.Task.ID, Name: n.Name, DueMs: number(c.ReadyMs), RecordedMs: number(n.DurationMs), Exit: -1}
	cmd := shell(l.sending, l.command(n))
	cmd.WaitDelay = killAfter
	if n.Details != nil {
		cmd.Stdin = bytes.NewReader(n.Details.Args)
	}
	cmd.Env = append(os.Environ(), "REPRISE_TOOL="+n.Name, "REPRISE_NODE="+n.ID, "REPRISE_TASK="+c.Task.ID)
	go func() {
		line.StartMs = number(l.clock.now())
		err := cmd.Run()
		line.EndMs = number(l.clock.now())
		var exit *exec.ExitError
		switch {
		case err == nil:
			line.Exit = 0
		case errors.As(err, &exit):
			line.Exit = exit.ExitCode()
		default:
			line.Error = err.Error()
		}
		l.events <- func() { l.toolEnded(c, line) }
	}()
}

func (l *loop) toolEnded(c workload.Call, line toolLine) {
	l.open--
	l.book.tool(c.Task, line)
	status := metrics.Completed
	if l.stopped {
		status = metrics.Unfinished
	}
	l.driver.Done(c.Row, workload.Outcome{Status: status}, float64(line.EndMs))
}

// shell is a command line of the system's shell.
func shell(ctx context.Context, line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.CommandContext(ctx, "cmd", "/C", line)
	}
	return exec.CommandContext(ctx, "sh", "-c", line)
}

// number is a float64 that is null in JSON where it is undefined.
type number float64

// MarshalJSON implements [json.Marshaler].
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return appendNumber(nil, float64(n)), nil
}

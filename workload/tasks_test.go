package workload_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/trace"
)

// parseTasks reads the small language in which stories write traces. A line that
// is not indented is a task, the indented lines below it are its nodes; a task
// without nodes is a flat request of the same name.
//
//	task A at=100                     released at 100 ms
//	  A1                              a call to a model
//	  t tool 40 after=A1              a tool call of 40 ms, behind the end of A1
//	  h think 5 after=A1+3            a human wait of 5 ms, 3 ms after the end of A1
//	  A2 after=t+10,h                 a call that joins two branches, one with a pause
//	  B1 after=dispatch:A2            a call that starts when A2 is sent
//	  u tool 7 after=output:A2:12     a tool that starts at output token 12 of A2
//	  A3 after=A2 recorded=5000       a call whose recorded start is known
//	  C1 not_before=60                a call that starts 60 ms after its task
//
// "at=untimed" is a task whose time is not known.
func parseTasks(text string) (memory, error) {
	var tasks memory
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var err error
		if fields[0] == "task" {
			var t *trace.Task
			t, err = parseTask(fields[1:])
			tasks = append(tasks, t)
		} else {
			err = parseNode(tasks[len(tasks)-1], fields, int32(i+1))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	for _, t := range tasks {
		if len(t.Nodes) == 0 {
			t.Nodes = request(t.ID, 0).Nodes
		}
	}
	return tasks, nil
}

func parseTask(fields []string) (*trace.Task, error) {
	t := &trace.Task{ID: fields[0]}
	if len(fields) == 1 {
		return t, nil
	}
	text := strings.TrimPrefix(fields[1], "at=")
	if text == "untimed" {
		text = "NaN"
	}
	var err error
	t.ReleaseMs, err = strconv.ParseFloat(text, 64)
	return t, err
}

func parseNode(t *trace.Task, fields []string, line int32) error {
	n := trace.Node{ID: fields[0], Line: line}
	fields = fields[1:]
	if len(fields) > 1 && (fields[0] == "tool" || fields[0] == "think") {
		n.Kind = map[string]trace.Kind{"tool": trace.Tool, "think": trace.Think}[fields[0]]
		var err error
		if n.DurationMs, err = strconv.ParseFloat(fields[1], 64); err != nil {
			return err
		}
		fields = fields[2:]
	}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		var err error
		switch key {
		case "after":
			n.After, err = parseEdges(t, value)
		case "not_before":
			n.NotBeforeMs, err = strconv.ParseFloat(value, 64)
		case "recorded":
			n.Details = &trace.Details{Recorded: &trace.Recorded{}}
			n.Details.Recorded.StartMs, err = strconv.ParseFloat(value, 64)
		default:
			err = fmt.Errorf("unknown word %q", f)
		}
		if err != nil {
			return err
		}
	}
	t.Nodes = append(t.Nodes, n)
	return nil
}

func parseEdges(t *trace.Task, list string) ([]trace.Edge, error) {
	var edges []trace.Edge
	for _, text := range strings.Split(list, ",") {
		var e trace.Edge
		name, delay, paused := strings.Cut(text, "+")
		if paused {
			var err error
			if e.DelayMs, err = strconv.ParseFloat(delay, 64); err != nil {
				return nil, err
			}
		}
		switch p := strings.Split(name, ":"); {
		case p[0] == "dispatch" && len(p) == 2:
			e.Trigger, name = trace.Dispatch, p[1]
		case p[0] == "output" && len(p) == 3:
			at, err := strconv.ParseInt(p[2], 10, 32)
			if err != nil {
				return nil, err
			}
			e.Trigger, e.AtOutput, name = trace.Output, int32(at), p[1]
		}
		e.From = int32(nodeNamed(t, name))
		edges = append(edges, e)
	}
	return edges, nil
}

// nodeNamed is the number of a node of t, or the one behind the last if there is
// none of that name.
func nodeNamed(t *trace.Task, name string) int {
	for i := range t.Nodes {
		if t.Nodes[i].ID == name {
			return i
		}
	}
	return len(t.Nodes)
}

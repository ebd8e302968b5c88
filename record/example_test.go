package record_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/record"
	"github.com/reprise-sim/reprise/trace"
)

// An agent that writes OpenTelemetry spans needs no recorder between itself and its
// server.
func ExampleFromSpans() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "agent.jsonl")
	result, err := record.FromSpans([]string{"../examples/spans.json"}, path, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Tasks, "task,", result.Calls, "calls,", result.Tools, "tool run")
	inputs, err := trace.OpenInputs(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := trace.OpenNative(inputs)
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := t.Tasks()
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := tasks.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range task.Nodes {
		n := &task.Nodes[i]
		for _, e := range n.After {
			fmt.Printf("%s waits for %s, inferred: %v\n", n.ID, task.Nodes[e.From].ID, e.Inferred)
		}
	}
	// Output:
	// 1 task, 2 calls, 1 tool run
	// call_1 waits for count-files/0, inferred: false
	// count-files/1 waits for call_1, inferred: true
}

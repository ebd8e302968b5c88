package synth_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/synth"
)

// Conversations of three turns that begin with the same system prompt.
func ExampleNew() {
	turns := 3.0
	spec := synth.Defaults()
	spec.Tasks = 1000
	spec.SystemPrefixTokens = 256
	spec.Turns = &arrival.DistributionSettings{Distribution: "fixed", Value: &turns}
	made, err := synth.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := made.Report()
	fmt.Println(r.Tasks, "tasks,", r.Calls, "calls,", r.InputTokens, "+", r.OutputTokens, "tokens")
	src, err := made.Tasks()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	first, _ := src.Next()
	for _, n := range first.Nodes {
		fmt.Println(n.ID, n.InputTokens)
	}
	// Output:
	// 1000 tasks, 3000 calls, 6912000 + 384000 tokens
	// t0/0 1280
	// t0/1 2304
	// t0/2 3328
}

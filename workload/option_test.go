package workload_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// A tool that the loop runs for as long as it took when it was recorded changes
// nothing: all calls start when they would.
func TestToolsRunByTheLoopAreLikeThoseWaitedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, metrics.Completed), drawSettings(t)
		s.Speedup = 1
		run := map[string]bool{}
		for _, task := range tasks {
			for i := range task.Nodes {
				n := &task.Nodes[i]
				run[n.ID] = rapid.Bool().Draw(t, "run")
				if n.Kind != trace.LLM {
					n.OutputTokens = 0 // a tool writes nothing that others wait for
				}
			}
		}
		want := started(play(mustNew(t, tasks, s, workload.Limits{}), fate).calls)
		d, err := workload.New(tasks, s, workload.Limits{}, workload.RunTools(func(n *trace.Node) bool { return run[n.ID] }))
		if err != nil {
			t.Fatal(err)
		}
		serve := func(c workload.Call) (float64, metrics.Status) {
			if n := node(c); n.Kind != trace.LLM {
				return n.DurationMs, metrics.Completed
			}
			return fate(c)
		}
		got := started(play(d, serve).calls)
		for id := range run {
			if _, isCall := want[id]; !isCall {
				delete(got, id)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
		if c := d.Counts(); c.Offered != c.InTrace || c.InFlight != 0 || !d.Drained() {
			t.Fatalf("%+v, drained %v", c, d.Drained())
		}
	})
}

// Feedback that comes late but says when things happened changes no due time.
func TestLateFeedbackCountsFromWhenItHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawTrace(t, metrics.Completed, metrics.Rejected)
		want := started(play(mustNew(t, tasks, workload.Defaults(), workload.Limits{}), fate).calls)
		d, err := workload.New(tasks, workload.Defaults(), workload.Limits{}, workload.LateFeedback())
		if err != nil {
			t.Fatal(err)
		}
		c := &clock{driver: d, serve: fate, lateMs: func() float64 { return times.Draw(t, "late") }}
		for c.step() {
		}
		got := map[string]float64{}
		for _, call := range c.calls {
			got[name(call)] = call.ReadyMs
		}
		if !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

func TestSlotsAreNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawTrace(t, statuses...)
		n := rapid.IntRange(1, 4).Draw(t, "slots")
		overMs := times.Draw(t, "ramp")
		d, err := workload.New(tasks, inSlots(n), workload.Limits{}, workload.RampSlots(overMs))
		if err != nil {
			t.Fatal(err)
		}
		c := &clock{driver: d, serve: fate}
		c.batch = func(now float64, _ []workload.Call) {
			open := map[*trace.Task]bool{}
			for _, b := range c.busy {
				open[b.call.Task] = true
			}
			allowed := n
			if step := overMs / float64(n); step > 0 {
				allowed = min(n, 1+int(now/step))
			}
			if len(open) > allowed {
				t.Fatalf("%d tasks in %d slots at %v", len(open), allowed, now)
			}
		}
		for c.step() {
		}
	})
}

func TestATaskGoesOnAfterAFailureIfAskedTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawTrace(t, metrics.Completed, metrics.Rejected, metrics.Failed, metrics.Cancelled)
		s := drawSettings(t)
		d, err := workload.New(tasks, s, workload.Limits{}, workload.GoOnAfterFailure())
		if err != nil {
			t.Fatal(err)
		}
		got := started(play(d, fate).calls)
		if c := d.Counts(); c.Skipped != 0 || c.Offered != c.InTrace {
			t.Fatalf("%+v, expected all offered", c)
		}
		for _, task := range tasks {
			for i := range task.Nodes {
				task.Nodes[i].Priority = int32(metrics.Completed)
			}
		}
		if want := started(play(mustNew(t, tasks, s, workload.Limits{}), fate).calls); !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

// A graph in which a node waits for itself is refused with the way that leads back.
func TestACyclicGraphIsRefusedByNamingACycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := &trace.Task{ID: "t"}
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		for k := range n {
			task.Nodes = append(task.Nodes, drawNode(t, fmt.Sprintf("n%d", k), k, []metrics.Status{metrics.Completed}))
		}
		length := rapid.IntRange(1, n).Draw(t, "cycle")
		ring := rapid.Permutation(rapid.Just(sequence(n)).Draw(t, "all")).Draw(t, "ring")[:length]
		for i, k := range ring {
			task.Nodes[k].After = append(task.Nodes[k].After, trace.Edge{From: ring[(i+1)%length]})
		}
		_, err := workload.New(memory{task}, workload.Defaults(), workload.Limits{})
		if err == nil || !strings.Contains(err.Error(), " waits for ") {
			t.Fatalf("error %v, expected a cycle", err)
		}
		if named := cycleIn(err.Error()); !strings.Contains(err.Error(), "…") && !isCycle(task, named) {
			t.Fatalf("%v: %v is no cycle", err, named)
		}
	})
}

func sequence(n int) (s []int32) {
	for i := range n {
		s = append(s, int32(i))
	}
	return s
}

// cycleIn are the nodes that a refusal names.
func cycleIn(refusal string) []string {
	_, text, _ := strings.Cut(refusal, "got ")
	text, _, _ = strings.Cut(text, ", expected")
	return strings.Split(text, " waits for ")
}

// isCycle is whether each of the nodes waits for the next and the last is the first.
func isCycle(t *trace.Task, ids []string) bool {
	for i := range len(ids) - 1 {
		n := &t.Nodes[nodeNamed(t, ids[i])]
		next := int32(nodeNamed(t, ids[i+1]))
		if !slices.ContainsFunc(n.After, func(e trace.Edge) bool { return e.From == next }) {
			return false
		}
	}
	return len(ids) > 1 && ids[0] == ids[len(ids)-1]
}

// Every call is announced before it comes out, for the instant at which it is due or,
// where nobody knows when a slot gets free, for an earlier one; announcing changes
// nothing.
func TestCallsAreAnnouncedBeforeTheyAreDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, statuses...), drawSettings(t)
		want := started(play(mustNew(t, tasks, s, workload.Limits{}), fate).calls)
		announced := map[string]float64{}
		d, err := workload.New(tasks, s, workload.Limits{}, workload.Announce(func(task *trace.Task, node int32, dueMs float64) {
			announced[task.Nodes[node].ID] = dueMs
		}))
		if err != nil {
			t.Fatal(err)
		}
		serve := func(c workload.Call) (float64, metrics.Status) {
			if due, ok := announced[name(c)]; !ok || due > c.DueMs {
				t.Fatalf("%s is due at %v, announced for %v (%v)", name(c), c.DueMs, due, ok)
			}
			return fate(c)
		}
		if got := started(play(d, serve).calls); !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

// One slot gets free at 5, the other one whenever its call ends: the next call can be
// due at once.
func TestACallIsAnnouncedForTheEarliestSlot(t *testing.T) {
	call := func(id string) *trace.Task {
		return &trace.Task{ID: id, Nodes: []trace.Node{{ID: id, Kind: trace.LLM, InputTokens: 1, OutputTokens: 1, Extends: -1}}}
	}
	tasks := memory{
		{ID: "wait", Nodes: []trace.Node{{ID: "wait", Kind: trace.Think, DurationMs: 5, Extends: -1}}},
		call("first"), call("next"),
	}
	announced := map[string]float64{}
	d, err := workload.New(tasks, inSlots(2), workload.Limits{}, workload.Announce(func(task *trace.Task, _ int32, dueMs float64) {
		announced[task.ID] = dueMs
	}))
	if err != nil {
		t.Fatal(err)
	}
	d.Release(0, nil)
	if due, ok := announced["next"]; !ok || due != 0 {
		t.Errorf("announced for %v (%v), want 0", due, ok)
	}
}

package workload_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// A generated call carries its own fate, so that it does not depend on the order
// in which calls are served: it takes InputTokens ms and ends as Priority says.
func fate(c workload.Call) (float64, metrics.Status) {
	n := node(c)
	return float64(n.InputTokens), metrics.Status(n.Priority)
}

// Times are drawn from few values, so that much happens at one instant.
var (
	times    = rapid.SampledFrom([]float64{0, 0, 0, 1, 2.5, 3, 7, 1.0 / 3, 20})
	statuses = []metrics.Status{metrics.Completed, metrics.Rejected, metrics.Failed, metrics.Cancelled, metrics.Unfinished}
)

// drawTrace draws tasks of random graphs. Calls end with one of the statuses.
func drawTrace(t *rapid.T, ends ...metrics.Status) memory {
	tasks := make(memory, rapid.IntRange(1, 6).Draw(t, "tasks"))
	release := 0.0
	for i := range tasks {
		release += times.Draw(t, "gap")
		task := &trace.Task{ID: fmt.Sprintf("t%d", i), ReleaseMs: release}
		for k := range rapid.IntRange(1, 7).Draw(t, "nodes") {
			task.Nodes = append(task.Nodes, drawNode(t, fmt.Sprintf("t%d.%d", i, k), k, ends))
		}
		tasks[i] = task
	}
	return tasks
}

func drawNode(t *rapid.T, id string, above int, ends []metrics.Status) trace.Node {
	n := trace.Node{
		ID:           id,
		Kind:         rapid.SampledFrom([]trace.Kind{trace.LLM, trace.LLM, trace.LLM, trace.Tool, trace.Think}).Draw(t, "kind"),
		NotBeforeMs:  times.Draw(t, "not before"),
		DurationMs:   times.Draw(t, "duration"),
		InputTokens:  rapid.Int32Range(0, 9).Draw(t, "service"),
		OutputTokens: rapid.Int32Range(1, 4).Draw(t, "output"),
		Priority:     int32(rapid.SampledFrom(ends).Draw(t, "status")),
	}
	for from := range above {
		if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
			continue
		}
		n.After = append(n.After, trace.Edge{
			From:     int32(from),
			Trigger:  rapid.SampledFrom([]trace.Trigger{trace.Completion, trace.Dispatch, trace.Output}).Draw(t, "trigger"),
			AtOutput: rapid.Int32Range(1, 5).Draw(t, "at"),
			DelayMs:  times.Draw(t, "delay"),
		})
	}
	return n
}

// recurrence says when the nodes of a task start and when the task ends if nothing
// fails: each node when all that it waits for has happened.
func recurrence(t *trace.Task, startMs, speedup float64) (starts []float64, endMs float64) {
	starts, ends := make([]float64, len(t.Nodes)), make([]float64, len(t.Nodes))
	endMs = startMs
	for i := range t.Nodes {
		n := &t.Nodes[i]
		at := startMs + n.NotBeforeMs/speedup
		for _, e := range n.After {
			fired := ends[e.From]
			switch source := &t.Nodes[e.From]; {
			case e.Trigger == trace.Dispatch:
				fired = starts[e.From]
			case e.Trigger == trace.Output && source.Kind == trace.LLM && e.AtOutput <= source.OutputTokens:
				fired = writtenMs(starts[e.From], ends[e.From]-starts[e.From], e.AtOutput, source.OutputTokens)
			}
			at = max(at, fired+e.DelayMs/speedup)
		}
		starts[i] = at
		if n.Kind == trace.LLM {
			ends[i] = at + float64(n.InputTokens)
		} else {
			ends[i] = at + n.DurationMs/speedup
		}
		endMs = max(endMs, ends[i])
	}
	return starts, endMs
}

// started maps the calls of a run to their times.
func started(calls []workload.Call) map[string]float64 {
	m := map[string]float64{}
	for _, c := range calls {
		m[name(c)] = c.DueMs
	}
	return m
}

// note adds the calls of a task to a map of times.
func note(m map[string]float64, t *trace.Task, starts []float64) {
	for i := range t.Nodes {
		if t.Nodes[i].Kind == trace.LLM {
			m[t.Nodes[i].ID] = starts[i]
		}
	}
}

func mustNew(t interface{ Fatalf(string, ...any) }, tasks memory, s workload.Settings, l workload.Limits) *workload.Driver {
	d, err := workload.New(tasks, s, l)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return d
}

func inSlots(n int) workload.Settings {
	s := workload.Defaults()
	s.Mode, s.Concurrency = workload.ModeConcurrency, &n
	return s
}

func drawRecordedTimes(t *rapid.T) workload.Settings {
	s := workload.Defaults()
	s.Speedup = rapid.SampledFrom([]float64{1, 1, 2, 3, 0.7}).Draw(t, "speedup")
	s.Origin = rapid.SampledFrom([]string{workload.OriginFirst, workload.OriginRecorded}).Draw(t, "origin")
	return s
}

func drawSettings(t *rapid.T) workload.Settings {
	if rapid.Bool().Draw(t, "slots") {
		return inSlots(rapid.IntRange(1, 4).Draw(t, "concurrency"))
	}
	return drawRecordedTimes(t)
}

func TestCallsStartWhenAllTheyWaitForHasHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, metrics.Completed, metrics.Rejected), drawRecordedTimes(t)
		origin := 0.0
		if s.Origin == workload.OriginFirst {
			origin = tasks[0].ReleaseMs
		}
		want := map[string]float64{}
		for _, task := range tasks {
			starts, _ := recurrence(task, (task.ReleaseMs-origin)/s.Speedup, s.Speedup)
			note(want, task, starts)
		}
		if got := started(play(mustNew(t, tasks, s, workload.Limits{}), fate).calls); !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

func TestTasksTakeTheFirstFreeSlotInTheOrderOfTheTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawTrace(t, metrics.Completed, metrics.Rejected)
		free := make([]float64, rapid.IntRange(1, 4).Draw(t, "slots"))
		s, want := inSlots(len(free)), map[string]float64{}
		for _, task := range tasks {
			slices.Sort(free)
			var starts []float64
			starts, free[0] = recurrence(task, free[0], 1)
			note(want, task, starts)
		}
		if got := started(play(mustNew(t, tasks, s, workload.Limits{}), fate).calls); !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

func TestRecordedTurnsStartWhateverTheServerDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, statuses...), drawRecordedTimes(t)
		s.Turns = workload.TurnsRecorded
		origin := 0.0
		if s.Origin == workload.OriginFirst {
			origin = tasks[0].ReleaseMs
		}
		want := map[string]float64{}
		for _, task := range tasks {
			start := (task.ReleaseMs - origin) / s.Speedup
			starts := make([]float64, len(task.Nodes))
			for i := range task.Nodes {
				n := &task.Nodes[i]
				recorded := task.ReleaseMs + float64(rapid.Int32Range(-1, 50).Draw(t, "recorded"))
				n.Details = &trace.Details{Recorded: &trace.Recorded{StartMs: recorded}}
				starts[i] = max(start, (recorded-origin)/s.Speedup)
				if len(n.After) == 0 {
					starts[i] = start + n.NotBeforeMs/s.Speedup
				}
			}
			note(want, task, starts)
		}
		d := mustNew(t, tasks, s, workload.Limits{})
		if !d.Independent() {
			t.Fatalf("not independent")
		}
		if got := started(play(d, fate).calls); !maps.Equal(got, want) {
			t.Fatalf("starts\n got %v\nwant %v", got, want)
		}
	})
}

func TestCallsOfOneInstantLeaveInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawTrace(t, statuses...)
		order := map[*trace.Task]int{}
		for i, task := range tasks {
			order[task] = i
		}
		c := &clock{driver: mustNew(t, tasks, drawSettings(t), workload.Limits{}), serve: fate}
		row := int32(0)
		c.batch = func(now float64, calls []workload.Call) {
			if !slices.IsSortedFunc(calls, func(a, b workload.Call) int {
				return cmp.Or(cmp.Compare(a.DueMs, b.DueMs), cmp.Compare(order[a.Task], order[b.Task]), cmp.Compare(a.Node, b.Node))
			}) {
				t.Fatalf("out of order at %v: %v", now, calls)
			}
			for _, call := range calls {
				if call.Row != row || call.DueMs > now {
					t.Fatalf("call %v at %v, expected row %d and no later due time", call, now, row)
				}
				row++
			}
			if next := c.driver.Next(); next <= now {
				t.Fatalf("more is due at %v after the release at %v", next, now)
			}
		}
		for c.step() {
		}
	})
}

func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, l := drawTrace(t, statuses...), workload.Limits{}
		if rapid.Bool().Draw(t, "limited") {
			n := rapid.IntRange(0, 20).Draw(t, "limit")
			l.Requests = &n
		}
		d := mustNew(t, tasks, drawSettings(t), l)
		c, stopMs := &clock{driver: d, serve: fate}, rapid.SampledFrom([]float64{0, 5, 20, math.Inf(1)}).Draw(t, "stop")
		for c.next() <= stopMs && c.step() {
		}
		stopped := !d.Drained()
		if stopped {
			d.Stop(workload.TimeCap)
		}
		for _, b := range c.busy {
			d.Done(b.call.Row, workload.Outcome{Status: metrics.Unfinished}, c.nowMs)
		}
		left := 0
		for why, n := range d.NotReleased() {
			left += int(n)
			if why == workload.TimeCap && !stopped || why == workload.Limit && len(c.calls) != *l.Requests {
				t.Fatalf("%d calls left for %s", n, why)
			}
		}
		counts := d.Counts()
		if counts.Offered != len(c.calls) || counts.InFlight != 0 || counts.InTrace != counts.Offered+left {
			t.Fatalf("%+v with %d released and %v not", counts, len(c.calls), d.NotReleased())
		}
		if l.Requests != nil && counts.Offered > *l.Requests {
			t.Fatalf("%d calls offered, limit %d", counts.Offered, *l.Requests)
		}
		if queued, rows := d.Held(); queued != 0 || rows != 0 || !d.Drained() || !math.IsInf(d.Next(), 1) {
			t.Fatalf("at the end: %d queued, %d rows, drained %v, next %v", queued, rows, d.Drained(), d.Next())
		}
	})
}

func TestAFailureEndsItsTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := mustNew(t, drawTrace(t, statuses...), drawSettings(t), workload.Limits{})
		c, skipped := &clock{driver: d}, 0
		failed := map[*trace.Task]float64{} // earliest failure
		c.serve = func(call workload.Call) (float64, metrics.Status) {
			at, gone := failed[call.Task]
			if gone && at <= c.nowMs {
				t.Fatalf("%s is released at %v, its task failed at %v", name(call), c.nowMs, at)
			}
			ms, status := fate(call)
			ms++ // so that a failure is never told after calls of its instant are out
			if status != metrics.Completed && status != metrics.Rejected && (!gone || call.DueMs+ms < at) {
				failed[call.Task] = call.DueMs + ms
			}
			return ms, status
		}
		for c.step() {
		}
		for task := range failed {
			skipped += task.Calls()
		}
		for _, call := range c.calls {
			if _, gone := failed[call.Task]; gone {
				skipped--
			}
		}
		if d.Counts().Skipped != skipped {
			t.Fatalf("%d skipped, expected %d", d.Counts().Skipped, skipped)
		}
	})
}

// A release at an instant at which nothing is due changes nothing.
func TestReleaseMayBeAskedAtAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, statuses...), drawSettings(t)
		want := play(mustNew(t, tasks, s, workload.Limits{}), fate).calls
		c := &clock{driver: mustNew(t, tasks, s, workload.Limits{}), serve: fate}
		for more := true; more; more = c.step() {
			if next := c.next(); !math.IsInf(next, 1) && rapid.Bool().Draw(t, "early") {
				now := c.nowMs + (next-c.nowMs)/2
				if now < next && len(c.driver.Release(now, nil)) > 0 {
					t.Fatalf("released at %v, before %v", now, next)
				}
			}
		}
		if !slices.Equal(c.calls, want) {
			t.Fatalf("calls\n got %v\nwant %v", c.calls, want)
		}
	})
}

// Under recorded times a late release gives the calls of all instants passed.
func TestOneLateReleaseIsManyTimelyOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, s := drawTrace(t, metrics.Completed), drawRecordedTimes(t)
		for _, task := range tasks {
			for i := range task.Nodes {
				for k := range task.Nodes[i].After {
					task.Nodes[i].After[k].Trigger = trace.Dispatch
				}
			}
		}
		timely := mustNew(t, tasks, s, workload.Limits{})
		var want []workload.Call
		for next := timely.Next(); !math.IsInf(next, 1); next = timely.Next() {
			want = timely.Release(next, want)
		}
		if got := mustNew(t, tasks, s, workload.Limits{}).Release(1e6, nil); !slices.Equal(got, want) {
			t.Fatalf("calls\n got %v\nwant %v", got, want)
		}
	})
}

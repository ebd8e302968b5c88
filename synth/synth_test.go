package synth

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// The stories in testdata have two commands; the input of both is a spec in YAML
// over the defaults.
//
//	generate      prints the report and one line a call: when, lengths, what it
//	              waits for, the ids of its own part
//	refuse        prints why the spec is refused
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := Defaults()
			if err := yaml.UnmarshalWithOptions([]byte(d.Input), &s, yaml.Strict()); err != nil && d.Input != "" {
				d.Fatalf(t, "%v", err)
			}
			made, err := New(s)
			switch {
			case d.Cmd == "refuse" && err != nil:
				return err.Error()
			case d.Cmd == "generate" && err == nil:
				return tell(t, made)
			}
			d.Fatalf(t, "%s: %v", d.Cmd, err)
			return ""
		})
	})
}

// tell prints a trace.
func tell(t testing.TB, made *Trace) string {
	var b strings.Builder
	r := made.Report()
	fmt.Fprintf(&b, "%d tasks, %d calls, %d + %d tokens, last at %v ms\n", r.Tasks, r.Calls, r.InputTokens, r.OutputTokens, r.LastMs)
	for _, task := range read(t, made) {
		for i := range task.Nodes {
			n := &task.Nodes[i]
			fmt.Fprintf(&b, "%s", n.ID)
			if n.Session != "" {
				fmt.Fprintf(&b, " of %s", n.Session)
			}
			if len(n.After) == 0 {
				fmt.Fprintf(&b, " at %v ms", task.ReleaseMs)
			}
			for _, e := range n.After {
				fmt.Fprintf(&b, " %v ms after %s", e.DelayMs, task.Nodes[e.From].ID)
			}
			fmt.Fprintf(&b, ": %d + %d tokens:", n.InputTokens, n.OutputTokens)
			if n.Extends >= 0 {
				fmt.Fprintf(&b, " first %d of %s,", n.Keep, task.Nodes[n.Extends].ID)
			}
			for _, id := range n.Input.Leaf().BlockIDs {
				fmt.Fprintf(&b, " %s", tellID(id))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// tellID prints the space of an id and its place in it.
func tellID(id uint64) string {
	switch id >> 48 {
	case 0xCAC0:
		return fmt.Sprintf("system.%d", id&(1<<48-1))
	case 0xD00D:
		return fmt.Sprintf("group%d.%d", id>>32&0xFFFF, id&(1<<32-1))
	}
	return fmt.Sprint(id)
}

// read returns all tasks of a trace.
func read(t testing.TB, made *Trace) []*trace.Task {
	t.Helper()
	src, err := made.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*trace.Task
	for {
		task, err := src.Next()
		if errors.Is(err, io.EOF) {
			return tasks
		}
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
}

func generate(t testing.TB, s Spec) *Trace {
	t.Helper()
	made, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func num(v float64) *float64 { return &v }

// specs draws small valid specs of every kind.
func specs(t *rapid.T) Spec {
	lengths := rapid.SampledFrom([]*arrival.DistributionSettings{
		{Distribution: "fixed", Value: num(10)},
		{Distribution: "uniform", Min: num(1), Max: num(30)},
		{Distribution: "normal", Mean: num(10), StdDev: num(10)},
		{Distribution: "lognormal", Mean: num(10), StdDev: num(20)},
		{Distribution: "empirical", Values: []float64{1, 8, 9}},
	})
	s := Spec{
		Tasks:     rapid.IntRange(1, 20).Draw(t, "tasks"),
		Seed:      rapid.Uint64().Draw(t, "seed"),
		BlockSize: rapid.IntRange(1, 9).Draw(t, "block size"),
		Arrival: rapid.SampledFrom([]*arrival.ProcessSettings{
			{Process: "burst"}, {Process: "constant", Rate: num(3)}, {Process: "poisson", Rate: num(3)}, {Process: "gamma", Rate: num(3), CV: num(2)},
		}).Draw(t, "arrival"),
		Input:      lengths.Draw(t, "input"),
		Output:     lengths.Draw(t, "output"),
		Turns:      &arrival.DistributionSettings{Distribution: "uniform", Min: num(1), Max: num(4)},
		Think:      &arrival.DistributionSettings{Distribution: "exponential", Mean: num(100)},
		KeepOutput: rapid.Bool().Draw(t, "keep output"),
	}
	s.SystemPrefixTokens = s.BlockSize * rapid.IntRange(0, 2).Draw(t, "system blocks")
	if s.PrefixGroups = rapid.IntRange(0, 3).Draw(t, "groups"); s.PrefixGroups > 0 {
		s.SharedPrefixRatio = rapid.Float64Range(0.01, 1).Draw(t, "ratio")
	}
	return s
}

func TestTheReportIsWhatIsStreamed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		made := generate(t, specs(rt))
		var got trace.Report
		ids := map[string]bool{}
		for _, task := range read(t, made) {
			got.Tasks++
			got.Calls += task.Calls()
			if task.ReleaseMs < got.LastMs {
				rt.Fatalf("task %s before the one in front of it", task.ID)
			}
			got.LastMs = task.ReleaseMs
			for i := range task.Nodes {
				n := &task.Nodes[i]
				got.InputTokens += int64(n.InputTokens)
				got.OutputTokens += int64(n.OutputTokens)
				if ids[n.ID] {
					rt.Fatalf("two calls are named %s", n.ID)
				}
				ids[n.ID] = true
				if int(n.InputTokens) != n.Input.Len() || n.InputTokens < 1 || n.OutputTokens < 1 {
					rt.Fatalf("%s: %d + %d tokens, prompt of %d", n.ID, n.InputTokens, n.OutputTokens, n.Input.Len())
				}
			}
		}
		got.Rows, got.Independent = got.Calls, got.Calls == got.Tasks
		if want := made.Report(); fmt.Sprint(got) != fmt.Sprint(*want) {
			rt.Fatalf("streamed %+v, reported %+v", got, *want)
		}
	})
}

func TestASpecIsReproducible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt)
		first := generate(t, s)
		told := tell(t, first)
		if told != tell(t, first) || told != tell(t, generate(t, s)) {
			rt.Fatalf("the same spec tells two stories")
		}
		longer := s
		longer.Tasks += 5
		_, tasks, _ := strings.Cut(told, "\n")
		_, longerTasks, _ := strings.Cut(tell(t, generate(t, longer)), "\n")
		if !strings.HasPrefix(longerTasks, tasks) {
			rt.Fatalf("more tasks change the first ones")
		}
	})
}

// The whole of a larger trace, bit by bit; it is the same on every machine.
func TestATraceHasTheSameBitsEverywhere(t *testing.T) {
	s := Defaults()
	s.Tasks, s.SystemPrefixTokens, s.PrefixGroups, s.SharedPrefixRatio, s.KeepOutput = 3000, 128, 7, 0.3, true
	s.Arrival = &arrival.ProcessSettings{Process: "gamma", Rate: num(3), CV: num(1.7)}
	s.Input = &arrival.DistributionSettings{Distribution: "lognormal", Mean: num(1024), StdDev: num(900), Max: num(8192)}
	s.Output = &arrival.DistributionSettings{Distribution: "normal", Mean: num(200), StdDev: num(150)}
	s.Turns = &arrival.DistributionSettings{Distribution: "uniform", Min: num(1), Max: num(5)}
	s.Think = &arrival.DistributionSettings{Distribution: "exponential", Mean: num(4000)}
	made := generate(t, s)
	if got, want := xxh3.HashString(tell(t, made)), uint64(17696658589767498924); got != want {
		t.Errorf("fingerprint %d, want %d", got, want)
	}
	if got, want := made.Header().Source.Digest, "sha256:c093bf8be2e47eca4d92d88c4bccbe3747fef420e998f9bde7d820220d51ca6b"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// One setting moves nothing but what it is about.
func TestSettingsDoNotDisturbOneAnother(t *testing.T) {
	base := Defaults()
	base.Input = &arrival.DistributionSettings{Distribution: "normal", Mean: num(100), StdDev: num(50)}
	column := func(s Spec, of func(*trace.Task) any) string {
		var b strings.Builder
		for _, task := range read(t, generate(t, s)) {
			fmt.Fprintln(&b, of(task))
		}
		return b.String()
	}
	times := func(task *trace.Task) any { return task.ReleaseMs }
	inputs := func(task *trace.Task) any { return task.Nodes[0].InputTokens }
	outputs := func(task *trace.Task) any { return task.Nodes[0].OutputTokens }

	changed := base
	changed.Output = &arrival.DistributionSettings{Distribution: "normal", Mean: num(100), StdDev: num(50)}
	changed.Turns = &arrival.DistributionSettings{Distribution: "uniform", Min: num(1), Max: num(3)}
	if column(base, times) != column(changed, times) || column(base, inputs) != column(changed, inputs) {
		t.Errorf("other outputs and turns move arrivals or inputs")
	}
	if column(changed, inputs) == column(changed, outputs) {
		t.Errorf("inputs and outputs are one stream")
	}
	reseeded := base
	reseeded.Seed++
	if column(base, times) == column(reseeded, times) || column(base, inputs) == column(reseeded, inputs) {
		t.Errorf("the seed does not matter")
	}
}

// A turn's prompt begins with the prompt before it, token by token, and with the
// answer if that is kept; behind it nothing is shared with any other task.
func TestPromptsGrowAndShareNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt)
		owner := map[token.Key]string{}
		for _, task := range read(t, generate(t, s)) {
			var context []uint64
			for i := range task.Nodes {
				n := &task.Nodes[i]
				words := n.Input.Words(nil, 1)
				if !slices.Equal(words[:len(context)], context) {
					rt.Fatalf("%s does not begin with the context before it", n.ID)
				}
				context = words
				if s.KeepOutput {
					context = n.Input.Extend(n.Input.Len(), n.Output).Words(nil, 1)
				}
			}
			last := task.Nodes[len(task.Nodes)-1].Input
			for i, key := range last.Keys(nil, s.BlockSize) {
				if by, taken := owner[key]; taken && by != task.ID && i >= s.SystemPrefixTokens/s.BlockSize+groupBlocks(s, task) {
					rt.Fatalf("block %d of %s is also in %s", i, task.ID, by)
				}
				owner[key] = task.ID
			}
		}
	})
}

// groupBlocks is how many blocks the first prompt of a task shares with its group
// by spec/replay.md 2.10, whole ones only.
func groupBlocks(s Spec, task *trace.Task) int {
	input := int(task.Nodes[0].InputTokens) - s.SystemPrefixTokens
	blocks := (input + s.BlockSize - 1) / s.BlockSize
	return min(int(math.Round(float64(blocks)*s.SharedPrefixRatio)), input/s.BlockSize)
}

// Two tasks of a group share the system prefix and the shorter of their group
// prefixes; two tasks of different groups the system prefix only.
func TestGroupsShareTheirPrefix(t *testing.T) {
	s := Defaults()
	s.Tasks, s.BlockSize, s.SystemPrefixTokens, s.PrefixGroups, s.SharedPrefixRatio = 40, 8, 16, 3, 0.5
	s.Input = &arrival.DistributionSettings{Distribution: "uniform", Min: num(16), Max: num(80)}
	tasks := read(t, generate(t, s))
	group := func(task *trace.Task) uint64 { return task.Nodes[0].Input.Leaf().BlockIDs[2] >> 32 }
	pairs := map[bool]int{}
	for i, a := range tasks {
		for _, b := range tasks[:i] {
			wordsA, wordsB := a.Nodes[0].Input.Words(nil, 8), b.Nodes[0].Input.Words(nil, 8)
			shared := 0
			for shared < min(len(wordsA), len(wordsB)) && wordsA[shared] == wordsB[shared] {
				shared++
			}
			want := 2
			same := group(a) == group(b)
			if same {
				want += min(groupBlocks(s, a), groupBlocks(s, b))
			}
			if shared != want {
				t.Fatalf("%s and %s share %d blocks, want %d", a.ID, b.ID, shared, want)
			}
			pairs[same]++
		}
	}
	if pairs[true] < 100 || pairs[false] < 100 {
		t.Errorf("pairs of the same group and not: %v", pairs)
	}
}

// Checking a spec and starting to stream it costs the same memory for one task as
// for many.
func TestTasksAreMadeWhenAskedFor(t *testing.T) {
	s := Defaults()
	s.Tasks = 200_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	src, err := generate(t, s).Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Next(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 100_000 {
		t.Errorf("%d bytes before the second of %d tasks", bytes, s.Tasks)
	}
}

func BenchmarkNext(b *testing.B) {
	s := Defaults()
	s.Tasks = b.N
	s.Input = &arrival.DistributionSettings{Distribution: "lognormal", Mean: num(1024), StdDev: num(900), Max: num(8192)}
	src, err := generate(b, s).Tasks()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := src.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

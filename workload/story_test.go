package workload_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// TestStories plays the scenarios in testdata, written in this language.
func TestStories(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", language, func() *story { return &story{} })
}

// story is a driver that is told what happens, and what is known about its calls.
// Calls go by the name of their node.
type story struct {
	tasks  memory
	driver *workload.Driver
	row    map[string]int32
}

// language is what can be told.
var language = scenario.Language[*story]{
	// The tasks of the story, in the language of parseTasks.
	//
	//	trace
	//	task A at=0
	//	  A1
	//	  A2 after=A1+10
	//	----
	//	1 tasks, 2 calls
	"trace": (*story).trace,

	// Starts anew on the trace. Settings are written as in a configuration, limit=N
	// is limits.requests. Answers with what is wrong, or as next does.
	//
	//	driver concurrency=2
	//	----
	//	next: 0
	"driver": (*story).start,

	// What is due at that instant: row, name, due time; then as next does.
	//
	//	release now=10
	//	----
	//	0 A1 due 10
	//	next: never
	"release": (*story).release,

	// The named call ends; as it should if no other status is given.
	//
	//	done A1 now=15 status=failed
	//	----
	//	drained
	"done": (*story).done,

	// The named call has written so many tokens by now.
	//
	//	progress A1 tokens=12 now=15
	//	----
	//	next: 15
	"progress": (*story).progress,

	// The output position of the named call that somebody waits for.
	//
	//	wants A1
	//	----
	//	12
	"wants": (*story).wants,

	// The loop ends the run for a reason.
	//
	//	stop reason=time_cap
	//	----
	//	next: never
	"stop": (*story).stop,

	// Where the calls of the trace are, and why some were not released.
	//
	//	counts
	//	----
	//	6 in trace = 4 offered + 2 limit; 1 in flight
	"counts": (*story).counts,

	// Everything from here on. Each call takes the service time, those given by name
	// their own. One line for each call in order of release.
	//
	//	run service=100 A2=500
	//	----
	//	A1 0..100
	//	A2 110..610
	"run": (*story).run,
}

func (s *story) trace(t *testing.T, td *datadriven.TestData) string {
	var err error
	if s.tasks, err = parseTasks(td.Input); err != nil {
		td.Fatalf(t, "%v", err)
	}
	r := s.tasks.Report()
	return fmt.Sprintf("%d tasks, %d calls", r.Tasks, r.Calls)
}

func (s *story) start(t *testing.T, td *datadriven.TestData) string {
	settings, limits := workload.Defaults(), workload.Limits{}
	if td.HasArg("concurrency") || td.HasArg("max_in_flight") {
		settings.Mode = workload.ModeConcurrency
	}
	for _, arg := range td.CmdArgs {
		switch arg.Key {
		case "mode":
			arg.Scan(t, 0, &settings.Mode)
		case "speedup":
			arg.Scan(t, 0, &settings.Speedup)
		case "origin":
			arg.Scan(t, 0, &settings.Origin)
		case "turns":
			arg.Scan(t, 0, &settings.Turns)
		case "concurrency":
			arg.Scan(t, 0, number(&settings.Concurrency))
		case "max_in_flight":
			arg.Scan(t, 0, number(&settings.MaxInFlight))
		case "limit":
			arg.Scan(t, 0, number(&limits.Requests))
		default:
			td.Fatalf(t, "unknown setting %q", arg.Key)
		}
	}
	var err error
	if s.driver, err = workload.New(s.tasks, settings, limits); err != nil {
		return err.Error()
	}
	s.row = map[string]int32{}
	return s.next()
}

// number makes room for a setting that is absent by default.
func number(setting **int) *int {
	*setting = new(int)
	return *setting
}

func (s *story) release(t *testing.T, td *datadriven.TestData) string {
	var b strings.Builder
	for _, c := range s.driver.Release(now(t, td), nil) {
		s.row[name(c)] = c.Row
		fmt.Fprintf(&b, "%d %s due %v\n", c.Row, name(c), c.DueMs)
	}
	return b.String() + s.next()
}

func (s *story) done(t *testing.T, td *datadriven.TestData) string {
	s.driver.Done(s.named(t, td), workload.Outcome{Status: status(td)}, now(t, td))
	return s.next()
}

func (s *story) progress(t *testing.T, td *datadriven.TestData) string {
	var tokens int32
	td.ScanArgs(t, "tokens", &tokens)
	s.driver.Progress(s.named(t, td), tokens, now(t, td))
	return s.next()
}

func (s *story) wants(t *testing.T, td *datadriven.TestData) string {
	return fmt.Sprint(s.driver.WantsProgress(s.named(t, td)))
}

func (s *story) stop(t *testing.T, td *datadriven.TestData) string {
	var reason string
	td.ScanArgs(t, "reason", &reason)
	s.driver.Stop(reason)
	return s.next()
}

func now(t *testing.T, td *datadriven.TestData) (ms float64) {
	td.ScanArgs(t, "now", &ms)
	return ms
}

func name(c workload.Call) string { return node(c).ID }

func node(c workload.Call) *trace.Node { return &c.Task.Nodes[c.Node] }

// next is when something is released without further feedback, "never", or
// "drained".
func (s *story) next() string {
	switch next := s.driver.Next(); {
	case s.driver.Drained():
		return "drained"
	case math.IsInf(next, 1):
		return "next: never"
	default:
		return fmt.Sprintf("next: %v", next)
	}
}

// named is the row of the call that the command names.
func (s *story) named(t *testing.T, td *datadriven.TestData) int32 {
	row, ok := s.row[td.CmdArgs[0].Key]
	if !ok {
		td.Fatalf(t, "%s has not been released", td.CmdArgs[0].Key)
	}
	return row
}

func status(td *datadriven.TestData) metrics.Status {
	arg, given := td.Arg("status")
	for s := metrics.Completed; given; s++ {
		if s.String() == arg.Vals[0] {
			return s
		}
	}
	return metrics.Completed
}

func (s *story) counts(*testing.T, *datadriven.TestData) string {
	c := s.driver.Counts()
	var b strings.Builder
	fmt.Fprintf(&b, "%d in trace = %d offered", c.InTrace, c.Offered)
	left := s.driver.NotReleased()
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(&b, " + %d %s", left[why], why)
	}
	if c.InFlight > 0 {
		fmt.Fprintf(&b, "; %d in flight", c.InFlight)
	}
	return b.String()
}

func (s *story) run(t *testing.T, td *datadriven.TestData) string {
	service := map[string]float64{}
	for _, arg := range td.CmdArgs {
		var ms float64
		arg.Scan(t, 0, &ms)
		service[arg.Key] = ms
	}
	var b strings.Builder
	play(s.driver, func(c workload.Call) (float64, metrics.Status) {
		ms, given := service[name(c)]
		if !given {
			ms = service["service"]
		}
		fmt.Fprintf(&b, "%s %v..%v\n", name(c), c.DueMs, c.DueMs+ms)
		return ms, metrics.Completed
	})
	return b.String()
}

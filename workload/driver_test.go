package workload_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// reading is a trace whose one pass is at hand.
type reading struct {
	trace.Trace
	pass *pass
}

func (r reading) Tasks() (trace.Source, error) { return r.pass, nil }

var completed = workload.Outcome{Status: metrics.Completed}

func TestAnErrorOfTheTraceEndsTheRelease(t *testing.T) {
	cut := errors.New("line 3: unexpected end")
	tasks := memory{request("a", 0), request("b", 5)}
	source := &pass{left: tasks, err: cut}
	d, err := workload.New(reading{tasks, source}, workload.Defaults(), workload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if calls := d.Release(5, nil); len(calls) != 2 || !errors.Is(d.Err(), cut) {
		t.Fatalf("%d calls and error %v, expected both calls and %v", len(calls), d.Err(), cut)
	}
	if d.Drained() || !math.IsInf(d.Next(), 1) {
		t.Fatal("drained with two calls in flight, or more to come after the error")
	}
	d.Done(0, completed, 6)
	d.Done(1, completed, 6)
	if !d.Drained() {
		t.Fatal("not drained with nothing in flight")
	}
	if d.Close(); !source.closed {
		t.Fatal("the source is open after Close")
	}
}

func TestATraceThatCannotBeReadIsRefused(t *testing.T) {
	source := &pass{err: errors.New("disk on fire")}
	_, err := workload.New(reading{memory{}, source}, workload.Defaults(), workload.Limits{})
	if err == nil || !strings.Contains(err.Error(), "disk on fire") || !source.closed {
		t.Fatalf("error %v, source closed %v", err, source.closed)
	}
}

func TestTasksHaveToComeInOrder(t *testing.T) {
	tasks := memory{request("a", 5), request("b", 4)}
	d, err := workload.New(reading{tasks, &pass{left: tasks}}, workload.Defaults(), workload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d.Release(5, nil)
	const want = `trace: task "b": release: got 4 ms, expected a finite time, at least 5 ms: tasks come in order of time`
	if d.Err() == nil || d.Err().Error() != want {
		t.Fatalf("error %v, expected %s", d.Err(), want)
	}
}

func TestAnEmptyTraceIsDrained(t *testing.T) {
	for _, s := range []workload.Settings{workload.Defaults(), inSlots(3)} {
		d := mustNew(t, nil, s, workload.Limits{})
		if !d.Drained() || len(d.Release(0, nil)) > 0 || len(d.NotReleased()) > 0 {
			t.Fatalf("mode %s: not drained", s.Mode)
		}
	}
}

func TestOnlyFlatRequestsAtRecordedTimesAreIndependent(t *testing.T) {
	session, err := parseTasks("task A\n A1\n A2 after=A1+10\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		tasks memory
		s     workload.Settings
		want  bool
	}{
		{"flat, recorded times", memory{request("a", 0)}, workload.Defaults(), true},
		{"flat, slots", memory{request("a", 0)}, inSlots(1), false},
		{"session, recorded times", session, workload.Defaults(), false},
		{"session, slots", session, inSlots(1), false},
	} {
		if got := mustNew(t, c.tasks, c.s, workload.Limits{}).Independent(); got != c.want {
			t.Errorf("%s: independent %v, expected %v", c.what, got, c.want)
		}
	}
}

func TestMistakesOfTheLoopPanic(t *testing.T) {
	session, err := parseTasks("task A\n A1\n A2 after=A1+10\n")
	if err != nil {
		t.Fatal(err)
	}
	for what, mistake := range map[string]func(d *workload.Driver){
		"time goes back":        func(d *workload.Driver) { d.Release(5, nil) },
		"an end in the past":    func(d *workload.Driver) { d.Done(0, completed, 5) },
		"time is no number":     func(d *workload.Driver) { d.Release(math.NaN(), nil) },
		"time is endless":       func(d *workload.Driver) { d.Release(math.Inf(1), nil) },
		"unknown row":           func(d *workload.Driver) { d.Done(7, completed, 10) },
		"row that has ended":    func(d *workload.Driver) { d.Done(0, completed, 10); d.Done(0, completed, 10) },
		"progress after end":    func(d *workload.Driver) { d.Done(0, completed, 10); d.Progress(0, 1, 10) },
		"ended, but still open": func(d *workload.Driver) { d.Done(0, workload.Outcome{Status: metrics.Open}, 10) },
	} {
		d := mustNew(t, session, workload.Defaults(), workload.Limits{})
		d.Release(10, nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			mistake(d)
		}()
	}
}

// sessions streams n sessions of three turns, a second apart.
type sessions struct{ n, next int }

func (s *sessions) Next() (*trace.Task, error) {
	if s.next == s.n {
		return (&pass{}).Next()
	}
	task := &trace.Task{ID: fmt.Sprint(s.next), ReleaseMs: float64(s.next) * 1000}
	for turn := range int32(3) {
		n := trace.Node{Turn: turn, InputTokens: 100}
		if turn > 0 {
			n.After = []trace.Edge{{From: turn - 1, DelayMs: 50}}
		}
		task.Nodes = append(task.Nodes, n)
	}
	s.next++
	return task, nil
}

func (s *sessions) Close() error { return nil }

func (s *sessions) Header() trace.Header { return trace.Header{} }

func (s *sessions) Report() *trace.Report { return &trace.Report{Tasks: s.n, Calls: 3 * s.n} }

func (s *sessions) Tasks() (trace.Source, error) { return s, nil }

// steady completes each call in 100 ms.
func steady(workload.Call) (float64, metrics.Status) { return 100, metrics.Completed }

func TestMemoryFollowsWhatIsLive(t *testing.T) {
	for _, s := range []workload.Settings{workload.Defaults(), inSlots(8)} {
		source := &sessions{n: 3000}
		d, err := workload.New(source, s, workload.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c, started := &clock{driver: d, serve: steady}, 0
		c.batch = func(_ float64, calls []workload.Call) {
			c.calls = nil
			for _, call := range calls {
				if call.Node == 0 {
					started++
				}
			}
			if queued, rows := d.Held(); queued > 8 || rows > 64 || d.Window() > 64 {
				t.Fatalf("mode %s: %d queued, %d rows in a window of %d", s.Mode, queued, rows, d.Window())
			}
			if ahead := source.next - started; ahead > 1 {
				t.Fatalf("mode %s: %d tasks read ahead", s.Mode, ahead)
			}
		}
		for c.step() {
		}
		if got := d.Counts(); got.Offered != 9000 || !d.Drained() {
			t.Fatalf("mode %s: %+v", s.Mode, got)
		}
	}
}

// flat streams the same request again and again, one a millisecond.
type flat struct {
	n    int
	task trace.Task
}

func newFlat(n int) *flat { return &flat{n: n, task: *request("r", -1)} }

func (f *flat) Next() (*trace.Task, error) {
	if f.n == 0 {
		return (&pass{}).Next()
	}
	f.n--
	f.task.ReleaseMs++
	return &f.task, nil
}

func (f *flat) Close() error { return nil }

func (f *flat) Header() trace.Header { return trace.Header{} }

func (f *flat) Report() *trace.Report {
	return &trace.Report{Rows: f.n, Tasks: f.n, Calls: f.n, Independent: true}
}

func (f *flat) Tasks() (trace.Source, error) { return f, nil }

// open releases one call at its time and ends the one from depth calls ago.
func open(d *workload.Driver, buf []workload.Call, depth int32) []workload.Call {
	now := d.Next()
	buf = d.Release(now, buf[:0])
	if row := buf[0].Row - depth; row >= 0 {
		d.Done(row, completed, now)
	}
	return buf
}

func TestFlatCallsDoNotAllocate(t *testing.T) {
	const n = 1000
	d, err := workload.New(newFlat(20*n), workload.Defaults(), workload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var buf []workload.Call
	some := func() {
		for range n {
			buf = open(d, buf, 100)
		}
	}
	some()
	if allocs := testing.AllocsPerRun(10, some); allocs > 0 {
		t.Fatalf("%v allocations in %d calls", allocs, n)
	}
}

// What the driver adds to a flat request: its release and its end.
func BenchmarkFlatAtRecordedTimes(b *testing.B) {
	d, err := workload.New(newFlat(math.MaxInt32), workload.Defaults(), workload.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var buf []workload.Call
	b.ReportAllocs()
	for b.Loop() {
		buf = open(d, buf, 256)
	}
}

func BenchmarkFlatInSlots(b *testing.B) {
	const slots = 256
	d, err := workload.New(newFlat(math.MaxInt32), inSlots(slots), workload.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	buf := d.Release(0, nil)
	now := 0.0
	b.ReportAllocs()
	for row := int32(0); b.Loop(); row++ {
		now++
		d.Done(row, completed, now)
		buf = d.Release(now, buf[:0])
	}
}

func BenchmarkSessionTurn(b *testing.B) {
	d, err := workload.New(&sessions{n: math.MaxInt32 / 3}, inSlots(1), workload.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var buf []workload.Call
	b.ReportAllocs()
	for b.Loop() {
		now := d.Next()
		buf = d.Release(now, buf[:0])
		d.Done(buf[0].Row, completed, now)
	}
}

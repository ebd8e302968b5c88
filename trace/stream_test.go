package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
)

const header = `{"schema":"reprise.trace","version":1,"block_size":16}` + "\n"

// flat is a file of n calls, ms apart; a negative distance puts the last one first.
func flat(n int, ms float64) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		at := float64(i) * ms
		if ms < 0 {
			at = float64(n-1-i) * -ms
		}
		fmt.Fprintf(&b, `{"id":"n%d","kind":"llm","not_before_ms":%v,"input":{"hash_ids":[%d],"length":16},"output":{"length":2}}`+"\n", i, at, i)
	}
	return b.String()
}

func mustOpen(t testing.TB, contents ...string) trace.Trace {
	t.Helper()
	tr, err := open(t, t.TempDir(), contents...)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestPassesDoNotDisturbEachOther(t *testing.T) {
	for name, tr := range map[string]trace.Trace{
		"in order":     mustOpen(t, flat(1000, 1)),
		"out of order": mustOpen(t, flat(1000, -1)),
		"two files":    mustOpen(t, flat(1000, 1), strings.ReplaceAll(flat(1000, 2), `"id":"n`, `"id":"m`)),
	} {
		a, err := tr.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		b, err := tr.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			x, errA := a.Next()
			y, errB := b.Next()
			if errA != nil || errB != nil {
				if errA != io.EOF || errB != io.EOF || n != tr.Report().Tasks {
					t.Errorf("%s: %v, %v after %d tasks of %d", name, errA, errB, n, tr.Report().Tasks)
				}
				break
			}
			if x.ID != y.ID || x.ReleaseMs != y.ReleaseMs {
				t.Fatalf("%s: %s and %s", name, x.ID, y.ID)
			}
		}
		if _, err := a.Next(); err != io.EOF {
			t.Errorf("%s: %v after the end", name, err)
		}
		a.Close()
		b.Close()
	}
}

func TestClosingEndsTheParsing(t *testing.T) {
	tr := mustOpen(t, flat(20_000, 1))
	before := runtime.NumGoroutine()
	for _, read := range []int{0, 1, 3000, 20_000} {
		src, err := tr.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		for range read {
			if _, err := src.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(src.Close(), src.Close()); err != nil {
			t.Error(err)
		}
		deadline := time.Now().Add(5 * time.Second)
		for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond) // a goroutine that has done its work still has to go
		}
		if now := runtime.NumGoroutine(); now > before {
			t.Errorf("%d goroutines after closing behind %d tasks, %d before", now, read, before)
		}
		if _, err := src.Next(); read < 20_000 && err == nil {
			for err == nil { // what had been parsed may still come
				_, err = src.Next()
			}
		}
	}
}

func TestMemoryFollowsWhatIsLive(t *testing.T) {
	const rows = 150_000
	tr := mustOpen(t, flat(rows, 1))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for n := range rows {
		if _, err := src.Next(); err != nil {
			t.Fatal(err)
		}
		if n%50_000 == 40_000 {
			if grown := heap() - before; grown > 4<<20 {
				t.Errorf("after %d tasks the heap has grown by %d KiB", n, grown>>10)
			}
		}
	}
	runtime.KeepAlive(tr)
}

func TestChangedFilesAreNotStreamed(t *testing.T) {
	dir := t.TempDir()
	tr, err := open(t, dir, flat(10, 1))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(path, []byte(flat(11, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Tasks(); err == nil || !strings.Contains(err.Error(), "a.jsonl: the file has changed") {
		t.Errorf("error %v", err)
	}
}

// Rows of a task that are scattered over a file are found, and the same tasks come
// from a compressed file.
func TestScatteredTasksArePutTogether(t *testing.T) {
	var lines, gathered strings.Builder
	lines.WriteString(header)
	gathered.WriteString(header)
	const tasks, turns = 50, 20
	row := func(b *strings.Builder, task, turn int) {
		after := fmt.Sprintf(`,"not_before_ms":%d`, task)
		if turn > 0 {
			after = fmt.Sprintf(`,"after":[{"id":"%d/%d"}]`, task, turn-1)
		}
		fmt.Fprintf(b, `{"id":"%d/%d","task":"%d","kind":"llm"%s,"input":{"length":%d},"output":{"length":1}}`+"\n", task, turn, task, after, turn)
	}
	for turn := range turns {
		for task := range tasks {
			row(&lines, task, turn)
		}
	}
	for task := range tasks {
		for turn := range turns {
			row(&gathered, task, turn)
		}
	}
	want := tracetest.Story(tracetest.Tasks(t, mustOpen(t, gathered.String())))
	dir := t.TempDir()
	for _, name := range []string{"t.jsonl", "t.jsonl.gz", "t.jsonl.zst"} {
		path := filepath.Join(dir, name)
		pack(t, path, lines.String())
		inputs, err := trace.OpenInputs(path)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.OpenNative(inputs)
		if err != nil {
			t.Fatal(err)
		}
		tracetest.Check(t, tr)
		if got := tracetest.Story(tracetest.Tasks(t, tr)); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

func TestSlicesKeepWholeTasks(t *testing.T) {
	tr := mustOpen(t, flat(10, 5))
	ids := func(cut func(trace.Source) trace.Source) string {
		src, err := tr.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		src = cut(src)
		defer src.Close()
		var ids []string
		for {
			task, err := src.Next()
			if err != nil {
				return strings.Join(ids, " ")
			}
			ids = append(ids, task.ID)
		}
	}
	for want, cut := range map[string]func(trace.Source) trace.Source{
		"n3 n4": func(s trace.Source) trace.Source { return trace.Slice(s, 3, 2) },
		"n9":    func(s trace.Source) trace.Source { return trace.Slice(s, 9, 5) },
		"":      func(s trace.Source) trace.Source { return trace.Slice(s, 0, 0) },
		"n1 n2": func(s trace.Source) trace.Source { return trace.Between(s, 5, 15) },
		"n2":    func(s trace.Source) trace.Source { return trace.Slice(trace.Between(s, 5, 15), 1, 1) },
	} {
		if got := ids(cut); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRedactedTracesKeepWhatReplayNeeds(t *testing.T) {
	tr := mustOpen(t, header+`{"id":"a","task":"T","kind":"llm","not_before_ms":0,"input":{"tokens":[1]},"output":{"tokens":[2]},"sampling":{"seed":1},"messages":[{"role":"user"}]}
{"id":"b","task":"T","kind":"tool","after":[{"id":"a"}],"name":"sh","duration_ms":3,"args":"secret","result":"secret"}`)
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w, err := trace.NewWriter(&b, tr.Header())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Save(w, trace.Redact(src)); err != nil {
		t.Fatal(err)
	}
	want := header + `{"id":"a","task":"T","kind":"llm","not_before_ms":0,"input":{"tokens":[1]},"output":{"tokens":[2]},"sampling":{"seed":1}}
{"id":"b","task":"T","kind":"tool","after":[{"id":"a"}],"name":"sh","duration_ms":3}
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestACutFileIsNamedWithItsLine(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, flat(1000, 5))
	z.Close()
	path := tracetest.File(t, "cut.gz", packed.String()[:packed.Len()/2])
	inputs, err := trace.OpenInputs(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = trace.OpenNative(inputs)
	want := regexp.MustCompile(`cut\.gz:[1-9][0-9]{2}: unpacking gzip: unexpected EOF$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestACancelledCopyLeavesNoFile(t *testing.T) {
	tr := mustOpen(t, flat(10, 5))
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	src = trace.Until(ctx, src)
	if _, err := src.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	dir := t.TempDir()
	w, err := trace.Create(filepath.Join(dir, "t.jsonl"), tr.Header())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Save(w, src); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func TestABrokenSourceLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	w, err := trace.Create(filepath.Join(dir, "t.jsonl.zst"), trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := trace.Save(w, brokenSource{broken}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

type brokenSource struct{ err error }

func (s brokenSource) Next() (*trace.Task, error) { return nil, s.err }
func (s brokenSource) Close() error               { return nil }

// Live measures the client of live runs: how late calls are sent while thousands of
// tools are waited for, and how much of a core a stream costs. It starts a server that
// paces tokens, writes a trace and runs the program on it.
//
//	go run ./bench/live                  2,200 tasks: about 2,000 waits and 200 streams at once
//	go run ./bench/live -tasks 500 -gap 20ms
//
// Client and server share this machine; the CPU time is that of the client alone.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// load is what the client has to bear: tasks that wait, call, wait, call, …
type load struct {
	tasks, calls   int           // calls of each task
	tokens, prompt int           // of each call
	gap            time.Duration // between tokens
	wait           time.Duration // of a tool, on average; between half and three halves of it
}

func main() {
	var l load
	flag.IntVar(&l.tasks, "tasks", 2200, "tasks in flight")
	flag.IntVar(&l.calls, "calls", 2, "calls of each")
	flag.IntVar(&l.tokens, "tokens", 20, "output tokens of each call")
	flag.IntVar(&l.prompt, "prompt", 500, "prompt tokens of each call")
	flag.DurationVar(&l.gap, "gap", 50*time.Millisecond, "time between tokens")
	flag.DurationVar(&l.wait, "wait", 10*time.Second, "mean time of a tool")
	out := flag.String("out", filepath.Join("bench", "out"), "folder for the program and the trace")
	flag.Parse()
	if err := bench(l, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench/live:", err)
		os.Exit(1)
	}
}

// bench runs the program once and prints what it cost.
func bench(l load, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	binary := filepath.Join(out, "reprise")
	build := exec.Command("go", "build", "-o", binary, "./cmd/reprise")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program: %w", err)
	}
	path := filepath.Join(out, "live.jsonl")
	if err := l.write(path); err != nil {
		return err
	}
	url, stop, err := livetest.Start(livetest.New(livetest.Options{Plugin: true, PerOutput: l.gap}))
	if err != nil {
		return err
	}
	defer stop()
	run := exec.Command(binary, "replay", path, "--target", url, "--json", "-q", "--scrape", "0", "--out", filepath.Join(out, "live"), "--overwrite")
	run.Stderr = os.Stderr
	began := time.Now()
	text, err := run.Output()
	if err != nil {
		return err
	}
	return l.report(text, time.Since(began), run.ProcessState.UserTime()+run.ProcessState.SystemTime())
}

// write writes the trace: every task arrives at 0.
func (l load) write(path string) error {
	w, err := trace.Create(path, trace.Header{Depth: trace.Tokens, IDs: trace.IDsGlobal, Model: "tiny"})
	if err != nil {
		return err
	}
	waits := arrival.NewRand(1, "bench.live")
	for i := range l.tasks {
		if err := w.Write(l.task(i, waits)); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Close()
}

// task is a task of waits and calls.
func (l load) task(i int, waits *arrival.Rand) *trace.Task {
	t := &trace.Task{ID: fmt.Sprintf("t%d", i)}
	ids := func(n, from int) []uint32 {
		list := make([]uint32, n)
		for k := range list {
			list[k] = uint32(256 + (from+k*7+i)%700)
		}
		return list
	}
	for k := range l.calls {
		tool := trace.Node{ID: fmt.Sprintf("t%d/tool%d", i, k), Kind: trace.Tool, Name: "wait", Extends: -1,
			DurationMs: float64(l.wait.Milliseconds()) * (0.5 + waits.Float64())}
		if k > 0 {
			tool.After = []trace.Edge{{From: int32(2*k - 1)}}
		}
		call := trace.Node{ID: fmt.Sprintf("t%d/%d", i, k), Kind: trace.LLM, Extends: -1, Turn: int32(k), After: []trace.Edge{{From: int32(2 * k)}},
			InputTokens: int32(l.prompt), Input: token.IDs(ids(l.prompt, k)), OutputTokens: int32(l.tokens), Output: token.IDs(ids(l.tokens, 3*k))}
		t.Nodes = append(t.Nodes, tool, call)
	}
	return t
}

// report prints the lag and the cost of a chunk.
func (l load) report(text []byte, wall, cpu time.Duration) error {
	var result struct {
		Faithful    bool
		Repetitions []struct {
			Lag struct {
				P50 float64 `json:"p50_ms"`
				P90 float64 `json:"p90_ms"`
				P99 float64 `json:"p99_ms"`
				Max float64 `json:"max_ms"`
			}
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return err
	}
	if !result.Faithful || len(result.Repetitions) != 1 {
		return errors.New("the run was not faithful: what it cost says nothing")
	}
	lag := result.Repetitions[0].Lag
	chunks := float64(l.tasks * l.calls * l.tokens)
	fmt.Printf("%d tasks, %d calls, %.0f chunks in %.1f s: %.0f chunks/s\n", l.tasks, l.tasks*l.calls, chunks, wall.Seconds(), chunks/wall.Seconds())
	fmt.Printf("lag of sending: p50 %.2f, p90 %.2f, p99 %.2f, most %.2f ms\n", lag.P50, lag.P90, lag.P99, lag.Max)
	fmt.Printf("client: %.1f s of CPU, %.2f %% of a core for 1,000 chunks/s (%.0f µs a chunk, with its share of the call)\n",
		cpu.Seconds(), 100*cpu.Seconds()/chunks*1000, 1e6*cpu.Seconds()/chunks)
	return nil
}

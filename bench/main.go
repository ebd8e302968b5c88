// Bench measures whole runs of the program: each workload in a fresh process,
// which parses its trace, simulates it and writes summary.json and
// per_request.csv. It prints a table and writes bench/out/bench.json.
//
//	go run ./bench                 all workloads, median of 3 runs
//	go run ./bench -only B,E -n 5  some of them
//
// Workloads A to E and M1 are those on which the reference simulator was timed
// (spec/fast-path.md 11); their check values prove that the work is the same.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

func main() {
	only := flag.String("only", "", "comma-separated workloads; default: all")
	runs := flag.Int("n", 3, "runs of each workload; the median by loop time is reported")
	out := flag.String("out", filepath.Join("bench", "out"), "folder for traces, runs and bench.json")
	flag.Parse()
	if err := bench(*only, *runs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench runs the chosen workloads and reports them.
func bench(only string, runs int, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	binary := filepath.Join(out, "reprise")
	build := exec.Command("go", "build", "-o", binary, "./cmd/reprise")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program: %w", err)
	}
	var results []result
	var failed []error
	for _, w := range workloads {
		if only != "" && !slices.Contains(strings.Split(only, ","), w.name) {
			continue
		}
		r, err := measure(w, binary, out, runs)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", w.name, err))
			continue
		}
		results = append(results, r)
		fmt.Fprintf(os.Stderr, "%-10s loop %8.1f ms, process %8.1f ms\n", w.name, r.LoopMs, 1000*r.WallS)
	}
	report(results)
	return errors.Join(append(failed, write(filepath.Join(out, "bench.json"), results))...)
}

// result is the median run of a workload.
type result struct {
	Workload     string  `json:"workload"`
	LoopMs       float64 `json:"loop_ms"` // the event loop
	CPUS         float64 `json:"cpu_s"`   // user and system time of the process
	WallS        float64 `json:"wall_s"`  // of the process
	PeakMiB      float64 `json:"peak_mib"`
	Requests     int64   `json:"requests"`
	OutputTokens int64   `json:"output_tokens"`
}

// measure runs a workload several times and returns the median.
func measure(w workload, binary, out string, runs int) (result, error) {
	path, err := w.trace(out)
	if err != nil {
		return result{}, err
	}
	var all []result
	for range runs {
		r, err := w.run(binary, path, filepath.Join(out, "run-"+w.name))
		if err != nil {
			return result{}, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b result) int {
		if a.LoopMs < b.LoopMs {
			return -1
		}
		return 1
	})
	return all[len(all)/2], nil
}

// report prints the table.
func report(results []result) {
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"workload", "loop ms", "cpu s", "wall s", "peak MiB", "requests", "output tokens", "requests/s of loop"})
	for _, r := range results {
		t.AppendRow(table.Row{
			r.Workload, fmt.Sprintf("%.1f", r.LoopMs), fmt.Sprintf("%.3f", r.CPUS), fmt.Sprintf("%.3f", r.WallS),
			fmt.Sprintf("%.0f", r.PeakMiB), r.Requests, r.OutputTokens, fmt.Sprintf("%.0f", float64(r.Requests)/r.LoopMs*1000),
		})
	}
	t.Render()
}

func write(path string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

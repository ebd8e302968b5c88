package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// workload is one timed run. Rows k of a generated trace arrive at k × gapMs and
// share nothing.
type workload struct {
	name          string
	rows          int
	input, output int
	gapMs         float64
	file          string // in place of generated rows
	settings      []string
	env           []string
	check         check
}

// check are values that prove that the work is the same: completed requests,
// virtual duration and mean TTFT, exact to the last digit. NaN is not checked.
type check struct {
	completed  int64
	durationMs float64
	meanTTFTMs float64
	reuse      float64
}

var unknown = math.NaN()

// pool is the fleet of the reference's timing work.
func pool(rules string, instances int, more ...string) []string {
	return append([]string{
		"engine.rules=" + rules, "engine.block_size=64", "engine.num_gpu_blocks=16384", "engine.max_num_seqs=256",
		"engine.max_num_batched_tokens=8192", "cluster.num_instances=" + strconv.Itoa(instances),
	}, more...)
}

const (
	reference = "aisimulate"
	real      = "vllm"
)

// conversation is the whole Mooncake conversation trace (Apache-2.0,
// kvcache-ai/Mooncake, FAST'25 release).
var conversation = filepath.Join("bench", "testdata", "conversation_trace.jsonl.gz")

// buckets is workload C's fleet as three buckets with all tiers.
var buckets = append(pool(reference, 8, "cluster.num_instances=null"),
	"cluster.buckets=[{name: short, input_length_max: 8192, num_instances: 3}, {name: medium, input_length_min: 8193, input_length_max: 32768, num_instances: 3}, {name: long, input_length_min: 32769, num_instances: 2}]",
	"cluster.router.mode=cache_affinity", "engine.kv_cache_bytes_per_token=131072", "cluster.cache.l1_blocks=65536", "cluster.cache.remote_gbps=25",
	"output.routing_log=false")

var workloads = []workload{
	{name: "A", rows: 1000, input: 1024, output: 128, settings: pool(reference, 1, "arrival.mode=concurrency", "arrival.concurrency=16"),
		check: check{1000, 74834.50896799992, 143.60551515299932, 0}},
	{name: "B", rows: 10_000, input: 512, output: 512, gapMs: 5, settings: pool(reference, 8),
		check: check{10_000, 70660.53450800032, 6561.707295156094, 0}},
	{name: "C", file: conversation, settings: pool(reference, 8),
		check: check{12_031, 3542944.092686997, 321.1362799685393, 0.08174359758426987}},
	{name: "C-buckets", file: conversation, settings: buckets, check: all(12_031)},
	{name: "C-buckets-log", file: conversation, settings: append(slices.Clone(buckets), "output.routing_log=true"), check: all(12_031)},
	{name: "D64", rows: 1000, input: 512, output: 64, gapMs: 40, settings: pool(reference, 1), check: check{1000, 40380.64532499993, unknown, unknown}},
	{name: "D256", rows: 1000, input: 512, output: 256, gapMs: 40, settings: pool(reference, 1), check: check{1000, 42291.31916900019, unknown, unknown}},
	{name: "D1024", rows: 1000, input: 512, output: 1024, gapMs: 40, settings: pool(reference, 1), check: check{1000, 97877.49941500003, unknown, unknown}},
	{name: "D4096", rows: 1000, input: 512, output: 4096, gapMs: 40, settings: pool(reference, 1), check: check{1000, 479208.2456779982, unknown, unknown}},
	{name: "E", rows: 100_000, input: 512, output: 512, gapMs: 0.625, settings: pool(reference, 64),
		check: check{100_000, 87990.30067900053, 8743.233021406422, 0}},
	{name: "M1", rows: 1_000_000, input: 512, output: 512, gapMs: 1, settings: pool(reference, 64), check: check{1_000_000, unknown, unknown, unknown}},

	{name: "E-1thread", rows: 100_000, input: 512, output: 512, gapMs: 0.625, settings: pool(reference, 64), env: []string{"GOMAXPROCS=1"},
		check: check{100_000, 87990.30067900053, 8743.233021406422, 0}},
	{name: "A-vllm", rows: 1000, input: 1024, output: 128, settings: pool(real, 1, "arrival.mode=concurrency", "arrival.concurrency=16"), check: all(1000)},
	{name: "B-vllm", rows: 10_000, input: 512, output: 512, gapMs: 5, settings: pool(real, 8), check: all(10_000)},
	{name: "C-vllm", file: conversation, settings: pool(real, 8), check: all(12_031)},
	{name: "D4096-vllm", rows: 1000, input: 512, output: 4096, gapMs: 40, settings: pool(real, 1), check: all(1000)},
	{name: "E-vllm", rows: 100_000, input: 512, output: 512, gapMs: 0.625, settings: pool(real, 64), check: all(100_000)},
	{name: "M1-vllm", rows: 1_000_000, input: 512, output: 512, gapMs: 1, settings: pool(real, 64), check: all(1_000_000)},
}

// all checks only that every request completes.
func all(n int64) check { return check{n, unknown, unknown, unknown} }

// trace is the path of the workload's trace, which is generated if need be.
func (w *workload) trace(dir string) (string, error) {
	if w.file != "" {
		return w.file, nil
	}
	path := filepath.Join(dir, fmt.Sprintf("%dx%d-%d-gap%v.jsonl", w.rows, w.input, w.output, w.gapMs))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return "", err
	}
	defer f.Close()
	rows := bufio.NewWriter(f)
	id := 0
	for k := range w.rows {
		at := strconv.FormatFloat(float64(k)*w.gapMs, 'g', -1, 64)
		fmt.Fprintf(rows, `{"timestamp":%s,"input_length":%d,"output_length":%d,"hash_ids":[`, at, w.input, w.output)
		for i := range (w.input + 511) / 512 {
			if i > 0 {
				rows.WriteByte(',')
			}
			fmt.Fprint(rows, id)
			id++
		}
		rows.WriteString("]}\n")
	}
	if err := rows.Flush(); err != nil {
		return "", err
	}
	return path, os.Rename(path+".tmp", path)
}

// run runs the workload once in a fresh process.
func (w *workload) run(binary, trace, out string) (result, error) {
	args := []string{"simulate", "--quiet", "--overwrite", "--out", out, "--trace", trace}
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), w.env...)
	started := time.Now()
	output, err := cmd.CombinedOutput()
	wall := time.Since(started)
	if err != nil {
		return result{}, fmt.Errorf("%w: %s", err, output)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r := result{
		Workload: w.name,
		CPUS:     (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		WallS:    wall.Seconds(),
		PeakMiB:  float64(usage.Maxrss) / 1024,
	}
	return r, w.read(out, &r)
}

// read takes the figures from a run's folder and checks them.
func (w *workload) read(dir string, r *result) error {
	var info struct {
		Wall struct {
			LoopMs float64 `json:"loop_ms"`
		} `json:"wall"`
	}
	var s struct {
		Requests   int64    `json:"num_requests"`
		Completed  int64    `json:"completed_requests"`
		Tokens     int64    `json:"total_output_tokens"`
		DurationMs float64  `json:"duration_ms"`
		TTFT       *float64 `json:"mean_ttft_ms"`
		Reuse      *float64 `json:"prefix_cache_reused_ratio"`
	}
	if err := readJSON(filepath.Join(dir, "run.json"), &info); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(dir, "summary.json"), &s); err != nil {
		return err
	}
	r.LoopMs, r.Requests, r.OutputTokens = info.Wall.LoopMs, s.Requests, s.Tokens
	if s.Completed != w.check.completed {
		return fmt.Errorf("%d requests completed, want %d", s.Completed, w.check.completed)
	}
	for _, c := range []struct {
		what string
		got  *float64
		want float64
	}{{"duration_ms", &s.DurationMs, w.check.durationMs}, {"mean_ttft_ms", s.TTFT, w.check.meanTTFTMs}, {"reuse", s.Reuse, w.check.reuse}} {
		if !math.IsNaN(c.want) && (c.got == nil || *c.got != c.want) {
			return fmt.Errorf("%s is not the reference's %v", c.what, c.want)
		}
	}
	return nil
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

package config_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/config"
)

// passFields are the fields of a pass log of a server (DESIGN.md 7), and where a pass
// ran.
var passFields = []string{"bucket", "decode_ctx_sum", "decode_reqs", "force_ns", "instance", "kv_usage", "preempted", "prefill",
	"running", "step", "t_end_ns", "t_sched_end_ns", "t_sched_ns", "t_start_ns", "tokens", "waiting"}

// logged is a line of passes.jsonl.
type logged struct {
	Step       int64      `json:"step"`
	Instance   int        `json:"instance"`
	Sched      int64      `json:"t_sched_ns"`
	SchedEnd   int64      `json:"t_sched_end_ns"`
	Start      int64      `json:"t_start_ns"`
	End        int64      `json:"t_end_ns"`
	Prefill    [][2]int64 `json:"prefill"`
	DecodeReqs int64      `json:"decode_reqs"`
	Tokens     int64      `json:"tokens"`
	Running    int64      `json:"running"`
	Preempted  int64      `json:"preempted"`
	KVUsage    float64    `json:"kv_usage"`
}

// crowded simulates a part of the main example on two instances with too few blocks.
func crowded(t *testing.T, set ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	set = append([]string{"limits.requests=120", "cluster.num_instances=2", "engine.num_gpu_blocks=2200", "arrival.speedup=20"}, set...)
	simulate(t, config.Sources{File: "../examples/mooncake.yaml", Out: dir, Set: set}, config.Options{})
	return dir
}

// A simulated run logs its passes as a server does: the same fields, each pass after
// the one before, and sums that agree.
func TestPassesAreLoggedAsAServerDoes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(crowded(t, "output.passes=true"), "passes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	steps, ends := map[int]int64{}, map[int]int64{}
	preempted := int64(0)
	for _, line := range lines {
		var fields map[string]any
		var p logged
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, passFields) {
			t.Fatalf("fields %v, want %v", got, passFields)
		}
		tokens := p.DecodeReqs
		for _, chunk := range p.Prefill {
			tokens += chunk[0]
		}
		if tokens != p.Tokens || int64(len(p.Prefill))+p.DecodeReqs > p.Running {
			t.Fatalf("sums: %s", line)
		}
		if p.Step != steps[p.Instance] || p.Start < ends[p.Instance] || p.End < p.Start || p.Sched > p.Start || p.SchedEnd < p.Sched {
			t.Fatalf("order: %s", line)
		}
		if p.KVUsage <= 0 || p.KVUsage > 1 {
			t.Fatalf("blocks: %s", line)
		}
		steps[p.Instance], ends[p.Instance] = p.Step+1, p.End
		preempted += p.Preempted
	}
	if len(steps) != 2 || preempted == 0 {
		t.Errorf("%d passes on %d instances, %d preemptions: want some of each", len(lines), len(steps), preempted)
	}
}

// To log passes changes no result.
func TestALogOfPassesChangesNothing(t *testing.T) {
	sameFiles(t, crowded(t), crowded(t, "output.passes=true"), "summary.json", "per_request.csv", "instances.csv")
}

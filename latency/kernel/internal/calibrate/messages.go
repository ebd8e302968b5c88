package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/work"
)

// collectives is a table of measured collectives.
type collectives struct {
	gpu, file, kernel string
	class             func(r *table.Row) (work.Class, bool)
}

// messageTables are all tables that messages are fitted to.
var messageTables = func() (list []collectives) {
	for _, g := range []struct{ gpu, nccl, custom string }{
		{"a100-sxm-80", "a100_sxm_nccl_2.27.3", "a100_sxm_vllm_0.14.0"},
		{"l40s", "l40s_nccl_2.27.3", "l40s_vllm_0.14.0"},
		{"h100-sxm", "h100_sxm_nccl_2.29.2", "h100_sxm_vllm_0.24.0"},
		{"h200-sxm", "h200_sxm_nccl_2.29.2", "h200_sxm_vllm_0.24.0"},
		{"b200-sxm", "b200_sxm_nccl_2.29.2", "b200_sxm_vllm_0.24.0"},
		{"rtx-pro-6000", "rtx_pro_6000_server_nccl_2.29.2", "rtx_pro_6000_server_vllm_0.24.0"},
	} {
		list = append(list,
			collectives{g.gpu, g.custom + "_custom_allreduce.csv.gz", "custom", inGraph},
			collectives{g.gpu, g.nccl + "_nccl.csv.gz", "nccl", ncclHalf})
	}
	return list
}()

// inGraph takes the engine's own all-reduce as it runs inside a graph.
func inGraph(r *table.Row) (work.Class, bool) {
	return work.AllReduce, strings.HasSuffix(r.Text("backend"), "graph")
}

// ncclHalf takes the collectives of 2-byte elements.
func ncclHalf(r *table.Row) (work.Class, bool) {
	class, known := map[string]work.Class{
		"all_reduce": work.AllReduce, "all_gather": work.AllGather, "reduce_scatter": work.ReduceScatter, "alltoall": work.AllToAll,
	}[r.Text("op_name")]
	return class, known && r.Text("nccl_dtype") == "half"
}

// group is what a message law is for.
type group struct {
	class work.Class
	ranks int
}

// fit is a line of messages.csv for each collective and number of ranks.
func (t *collectives) fit(folder string) ([]string, error) {
	gpu, err := hardware.Find(t.gpu)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, t.file)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := table.Read(path, f)
	if err != nil {
		return nil, err
	}
	var order []group
	samples := map[group][]sample{}
	for r := range rows.Rows() {
		class, ok := t.class(r)
		if !ok {
			continue
		}
		o := work.Op{Class: class, Ranks: r.Int("num_gpus"), Message: 2 * r.Number("message_size")}
		k := group{class, o.Ranks}
		if samples[k] == nil {
			order = append(order, k)
		}
		samples[k] = append(samples[k], sample{memory: kernel.Wire(&o) / gpu.Between(o.Ranks) * 1e3, time: r.Number("latency")})
	}
	var lines []string
	for _, k := range order {
		c := fit(samples[k], constants{launch: 0.01, compute: 0.5, memory: 0.5})
		mape, _ := errors(samples[k], &c)
		if c.memory < 1e-3 || math.IsNaN(c.memory) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%d,%.3g,%.3f,%d,%.1f,%s", k.class, t.gpu, t.kernel, k.ranks,
			c.launch*1e3, c.memory, len(samples[k]), mape, strings.TrimSuffix(t.file, ".csv.gz")))
	}
	return lines, rows.Err()
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

// operators is a table of measured kernels and how its rows become operators.
type operators struct {
	gpu, file string
	row       func(r *table.Row) (measured, bool)
}

// measured is a row: the operator, the family of kernels, the time in ms, and what
// else is part of that time.
type measured struct {
	op     work.Op
	family string
	ms     float64
	beside []work.Op
}

// tables are all tables that laws are fitted to.
var tables = func() (list []operators) {
	add := func(gpu, stem, name string, row func(r *table.Row) (measured, bool)) {
		list = append(list, operators{gpu, stem + "_" + name + ".csv.gz", row})
	}
	for _, g := range []struct{ gpu, stem string }{
		{"a100-sxm-80", "a100_sxm_vllm_0.14.0"}, {"l40s", "l40s_vllm_0.24.0"},
		{"h100-sxm", "h100_sxm_vllm_0.24.0"}, {"h200-sxm", "h200_sxm_vllm_0.24.0"}, {"b200-sxm", "b200_sxm_vllm_0.24.0"},
	} {
		add(g.gpu, g.stem, "gemm", gemmRow)
		add(g.gpu, g.stem, "context_attention", contextRow)
		add(g.gpu, g.stem, "generation_attention", decodeRow)
	}
	for _, g := range []struct{ gpu, stem string }{{"h100-sxm", "h100_sxm_vllm_0.24.0"}, {"b200-sxm", "b200_sxm_vllm_0.24.0"}} {
		add(g.gpu, g.stem, "mla_context_module", latentContextRow)
		add(g.gpu, g.stem, "mla_generation_module", latentDecodeRow)
	}
	for _, g := range []struct{ gpu, stem string }{
		{"a100-sxm-80", "a100_sxm_vllm_0.14.0"}, {"h100-sxm", "h100_sxm_vllm_0.24.0"}, {"h200-sxm", "h200_sxm_vllm_0.24.0"},
		{"b200-sxm", "b200_sxm_vllm_0.24.0"}, {"rtx-pro-6000", "rtx_pro_6000_server_vllm_0.24.0"},
	} {
		add(g.gpu, g.stem, "moe", expertRow)
	}
	return list
}()

// read reads a table.
func (t *operators) read(folder string) ([]measured, error) {
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
	var list []measured
	for r := range rows.Rows() {
		if m, ok := t.row(r); ok {
			list = append(list, m)
		}
	}
	return list, rows.Err()
}

// key is what a law is for.
type key struct {
	class          work.Class
	format, family string
}

// fitted is the constants of all tables so far, by GPU.
type fitted map[string]map[key]constants

// fits is a line of efficiency.csv for each kind of kernel in a table, in the order
// of their rows. Rows that beat the speed of light are no measurements.
func (t *operators) fits(rows []measured, done fitted) []string {
	gpu, err := hardware.Find(t.gpu)
	if err != nil {
		panic(err)
	}
	if done[t.gpu] == nil {
		done[t.gpu] = map[key]constants{}
	}
	var order []key
	samples := map[key][]sample{}
	for i := range rows {
		m := &rows[i]
		k := key{m.op.Class, m.op.Format.Name, m.family}
		s := limits(&m.op, &gpu)
		s.time = m.ms
		for j := range m.beside {
			o := &m.beside[j]
			law, part := done[t.gpu][key{o.Class, o.Format.Name, ""}], limits(o, &gpu)
			s.time -= law.ms(&part)
		}
		if s.time < max(s.compute, s.memory, m.ms/5) { // a small rest is mostly the error of what was taken off
			continue
		}
		if samples[k] == nil {
			order = append(order, k)
		}
		samples[k] = append(samples[k], s)
	}
	for _, k := range order {
		if s := samples[k]; len(s) >= 60 {
			done[t.gpu][k] = fit(s, start(s))
		}
	}
	return t.lines(order, samples, done[t.gpu])
}

// limits is an operator at full speed.
func limits(o *work.Op, gpu *hardware.GPU) sample {
	return sample{
		compute: o.FLOPs / gpu.Peak(o.Unit()) * 1e3,
		memory:  o.Bytes() / gpu.Bandwidth * 1e3,
		side:    o.Side / gpu.Bandwidth * 1e3,
	}
}

// start is where a fit begins.
func start(s []sample) constants {
	c := constants{launch: 0.01, compute: 0.5, memory: 0.7}
	if s[len(s)-1].side > 0 {
		c.side = 0.5
	}
	return c
}

// lines says the laws of a table. That of fp8-block products has the launch and the
// memory efficiency of fp8: the tables have the launch of an eager call, which hides
// everything else of small products.
func (t *operators) lines(order []key, samples map[key][]sample, laws map[key]constants) []string {
	var lines []string
	for _, k := range order {
		c, ok := laws[k]
		if !ok {
			continue
		}
		mape, median := errors(samples[k], &c)
		source := strings.TrimSuffix(t.file, ".csv.gz")
		if k.class == work.GEMM && k.format == precision.FP8Block.Name {
			fp8 := laws[key{work.GEMM, precision.FP8.Name, ""}]
			c.launch, c.memory = fp8.launch, fp8.memory
			source += " (rows above 0.6 ms; launch and memory of fp8)"
		}
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%s,%.3g,%.3f,%.3f,%.3f,%d,%.1f,%.1f,%s", k.class, t.gpu, k.format, k.family,
			c.launch*1e3, c.compute, c.memory, c.side, len(samples[k]), mape, median, source))
	}
	return lines
}

// gemmRow takes matrices that are not tiny (spec/latency.md 1.13). The floor of the
// fp8-block rows is the launch of an eager call, not the kernel's: only rows far above
// it count.
func gemmRow(r *table.Row) (measured, bool) {
	m, n, k := r.Number("m"), r.Number("n"), r.Number("k")
	format, err := precision.Find(r.Text("gemm_dtype"))
	ms := r.Number("latency")
	if err != nil || n < 1024 || k < 1024 || m > 16384 || format == precision.FP8Block && ms < 0.6 {
		return measured{}, false
	}
	return measured{op: work.GEMMOp(format, m, n, k), ms: ms}, true
}

// contextRow takes attention over prompts; kernels differ by the size of a head.
func contextRow(r *table.Row) (measured, bool) {
	a := attention(r)
	if r.OptionalInt("window_size") > 0 {
		return measured{}, false
	}
	o := a.context(r.Number("batch_size"), r.Number("isl"), r.Number("step"))
	return measured{op: o, family: a.family(), ms: r.Number("latency")}, true
}

// decodeRow takes decodes over caches as they occur: at least 256 tokens, and not so
// small that the second-level cache of the GPU holds them all from one repetition to
// the next, unless they are so small that only the launch counts.
func decodeRow(r *table.Row) (measured, bool) {
	a := attention(r)
	n, length := r.Number("batch_size"), r.Number("isl")+r.Number("step")
	o := a.decode(n, length)
	if r.OptionalInt("window_size") > 0 || length < 256 || o.Cache > 1e6 && o.Cache < 200e6 {
		return measured{}, false
	}
	return measured{op: o, family: a.family(), ms: r.Number("latency")}, true
}

// expertRow takes expert layers whose experts are not spread: of a spread layer the
// table has the busiest GPU.
func expertRow(r *table.Row) (measured, bool) {
	format, err := precision.Find(r.Text("moe_dtype"))
	if err != nil || r.Int("moe_ep_size") != 1 || r.Int("num_experts") > 600 {
		return measured{}, false
	}
	if source := r.Text("kernel_source"); strings.Contains(source, "modeloptfp8moe_flashinfer_cutlass") {
		return measured{}, false // reaches a fifth of the bandwidth: engines choose other kernels
	}
	tokens, topK, experts := r.Number("num_tokens"), r.Int("topk"), r.Int("num_experts")
	distinct := min(float64(experts), tokens*float64(topK)) // balanced: round robin
	if _, alpha, ok := strings.Cut(r.Text("distribution"), "power_law_"); ok {
		distinct = powerLaw(experts, topK, alpha, tokens)
	}
	o := work.ExpertOp(format, work.Shape{
		Tokens: tokens, Hidden: r.Int("hidden_size"), Width: r.Int("inter_size"), Experts: experts, TopK: topK,
		GPUs: r.Int("moe_tp_size"), Parts: 1, Distinct: distinct,
	})
	return measured{op: o, family: expertFamily(r.Text("kernel_source")), ms: r.Number("latency")}, true
}

// expertFamily is the family of kernels in the long name of one.
func expertFamily(name string) string {
	for _, family := range []string{"trtllm", "cutlass", "marlin", "triton"} {
		if strings.Contains(name, family) {
			return family
		}
	}
	return "triton" // vLLM's own
}

package hardware

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
)

// GPU is what one GPU can do. What is not known or not there is 0.
type GPU struct {
	Name       string
	Aliases    []string
	Generation string // GPUs of one generation run the same kernels

	BF16, FP8, FP4 float64 // dense peaks, FLOP/s
	INT8           float64 // dense peak, operations/s
	Bandwidth      float64 // of the memory, bytes/s
	MemoryGiB      float64 // as the vendor names it
	Memory         float64 // as the driver reports it, bytes

	Link   float64 // to GPUs of the same domain, bytes/s per direction
	Host   float64 // to the host's memory, bytes/s per direction
	RDMA   float64 // to GPUs of other domains, bytes/s per direction
	Domain int     // GPUs that Link reaches

	Source string
}

//go:embed gpus.csv
var builtIn []byte

var catalogue = table.Embedded("gpus.csv", builtIn, ReadCSV)

// All lists the catalogue in its order.
func All() []GPU { return slices.Clone(catalogue) }

// Find is the GPU of the catalogue with that name or alias, in any case.
func Find(name string) (GPU, error) {
	want := strings.ToLower(name)
	for _, g := range catalogue {
		if g.Name == want || slices.Contains(g.Aliases, want) {
			return g, nil
		}
	}
	var names []string
	for _, g := range catalogue {
		names = append(names, g.Name)
	}
	return GPU{}, fmt.Errorf("GPU %q: want one of %s, or a .csv file with one", name, strings.Join(names, ", "))
}

// ReadCSV reads GPUs in the format of the embedded gpus.csv: comments begin with
// #, empty cells are unknown. The name of the file is for errors.
func ReadCSV(file string, text []byte) ([]GPU, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var gpus []GPU
	for r := range t.Rows() {
		gpus = append(gpus, GPU{
			Name: strings.ToLower(r.Text("name")), Aliases: strings.Fields(strings.ToLower(r.Text("aliases"))),
			Generation: r.Text("generation"),
			BF16:       r.Number("bf16_tflops") * 1e12, FP8: r.Optional("fp8_tflops") * 1e12, FP4: r.Optional("fp4_tflops") * 1e12,
			INT8:      r.Optional("int8_tops") * 1e12,
			Bandwidth: r.Number("hbm_gbps") * 1e9, MemoryGiB: r.Number("memory_gib"), Memory: r.Number("memory_bytes"),
			Link: r.Optional("link_gbps") * 1e9, Host: r.Optional("pcie_gbps") * 1e9, RDMA: r.Optional("rdma_gbps") * 1e9,
			Domain: int(r.Number("domain")), Source: r.Text("source"),
		})
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	for i := range gpus {
		if err := gpus[i].check(); err != nil {
			return nil, fmt.Errorf("%s: GPU %s: %w", file, gpus[i].Name, err)
		}
	}
	return gpus, nil
}

// check refuses what cannot be a GPU.
func (g *GPU) check() error {
	switch {
	case g.Name == "":
		return fmt.Errorf("name: empty")
	case g.BF16 <= 0, g.Bandwidth <= 0, g.Memory <= 0:
		return fmt.Errorf("bf16_tflops %v, hbm_gbps %v, memory_bytes %v: want numbers above 0", g.BF16/1e12, g.Bandwidth/1e9, g.Memory)
	case g.Domain < 1:
		return fmt.Errorf("domain %d: want at least 1", g.Domain)
	}
	return nil
}

// Peak is the speed of a unit in FLOP/s; that of the bf16 unit if the GPU lacks the
// unit: the numbers are then widened before they are multiplied.
func (g *GPU) Peak(u precision.Unit) float64 {
	switch {
	case u == precision.FP8Unit && g.FP8 > 0:
		return g.FP8
	case u == precision.FP4Unit && g.FP4 > 0:
		return g.FP4
	}
	return g.BF16
}

// Multiplies is whether the GPU has a unit of its own for the format.
func (g *GPU) Multiplies(f precision.Format) bool {
	return f.Unit == precision.BF16Unit || g.Peak(f.Unit) > g.BF16
}

// Between is the bandwidth between n GPUs of a group, bytes/s per direction: that
// of the link inside a domain, else that of the network.
func (g *GPU) Between(n int) float64 {
	if n <= g.Domain || g.RDMA == 0 {
		return g.Link
	}
	return g.RDMA
}

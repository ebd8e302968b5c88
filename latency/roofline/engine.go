package roofline

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/latency/internal/table"
)

// Engine is what a serving engine adds to its kernels, and which kernels it has
// (spec/latency.md 1.14).
type Engine struct {
	Name string
	// StepMs is host time of a pass that the GPU waits for, SequenceMs that of each
	// sequence in it, EagerMs that of each layer of a pass that no graph covers.
	StepMs, SequenceMs, EagerMs float64
	// GraphTokens is the largest decode pass that runs as a graph, 0: none does. Graphs
	// exist for some sizes only: smaller passes are padded (spec/latency.md 1.14 b).
	GraphTokens int
	// CustomReduce: small sums between GPUs use the engine's own kernel.
	CustomReduce bool
	// UnpackedDecode: see [work.Deployment].
	UnpackedDecode bool
	Source         string
}

//go:embed engines.csv
var engineRows []byte

var engines = table.Embedded("engines.csv", engineRows, readEngines)

// Engines lists the presets.
func Engines() []Engine { return slices.Clone(engines) }

// FindEngine is the preset of that name.
func FindEngine(name string) (Engine, error) {
	var names []string
	for _, e := range engines {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, fmt.Errorf("engine %q: want one of %s", name, strings.Join(names, ", "))
}

// readEngines reads presets in the format of the embedded engines.csv.
func readEngines(file string, text []byte) ([]Engine, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var list []Engine
	for r := range t.Rows() {
		list = append(list, Engine{
			Name: r.Text("engine"), StepMs: r.Number("step_us") / 1e3, SequenceMs: r.Number("sequence_us") / 1e3,
			EagerMs: r.Number("eager_us") / 1e3, GraphTokens: r.Int("graph_tokens"),
			CustomReduce: r.Text("custom_reduce") == "yes", UnpackedDecode: r.Text("unpacked_decode") == "yes",
			Source: r.Text("source"),
		})
	}
	return list, t.Err()
}

// padded is the size of the graph that runs a decode pass of n tokens, n if none
// does: 1, 2, 4, then every 8 up to 256, then every 16.
func (e *Engine) padded(n int64) int64 {
	switch {
	case n > int64(e.GraphTokens):
		return n
	case n <= 2:
		return n
	case n <= 4:
		return 4
	case n <= 256:
		return min((n+7)/8*8, int64(e.GraphTokens))
	}
	return min((n+15)/16*16, int64(e.GraphTokens))
}

// graphed is whether a pass runs as a graph: decodes only, and not too many.
func (e *Engine) graphed(prefill, decode int64) bool {
	return prefill == 0 && decode <= int64(e.GraphTokens)
}

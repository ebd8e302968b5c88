package arch

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/latency/internal/table"
)

//go:embed models.csv
var builtIn []byte

// entry is a row of the catalogue.
type entry struct {
	names []string // the first one is printed
	model *Model
}

var catalogue = table.Embedded("models.csv", builtIn, readCSV)

// All lists the models of the catalogue in its order. They are shared: do not modify
// them.
func All() []*Model {
	var list []*Model
	for _, e := range catalogue {
		list = append(list, e.model)
	}
	return list
}

// Find is the model of the catalogue with that name or alias, in any case, with or
// without the organisation in front of it.
func Find(name string) (*Model, error) {
	want := strings.ToLower(name)
	for _, w := range []string{want, want[strings.LastIndexByte(want, '/')+1:]} {
		for _, e := range catalogue {
			if slices.Contains(e.names, w) {
				m := *e.model
				return &m, nil
			}
		}
	}
	var names []string
	for _, e := range catalogue {
		names = append(names, e.names[0])
	}
	return nil, fmt.Errorf("model %q: want one of %s, or the path of a config.json", name, strings.Join(names, ", "))
}

// readCSV reads models in the format of the embedded models.csv.
func readCSV(file string, text []byte) ([]entry, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var list []entry
	for r := range t.Rows() {
		s, err := rowShape(r)
		if err == nil {
			var m *Model
			if m, err = s.model(); err == nil {
				names := append([]string{m.Name}, strings.Fields(r.Text("aliases"))...)
				for i := range names {
					names[i] = strings.ToLower(names[i])
				}
				list = append(list, entry{names, m})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, r.Line(), err)
		}
	}
	return list, t.Err()
}

// rowShape is the shape that a row states.
func rowShape(r *table.Row) (*shape, error) {
	n := r.OptionalInt
	s := &shape{
		name: r.Text("name"), layers: r.Int("layers"), hidden: r.Int("hidden"), vocab: r.Int("vocab"),
		heads: r.Int("heads"), kvHeads: n("kv_heads"), headDim: n("head_dim"),
		globalKVHeads: n("global_kv_heads"), globalHeadDim: n("global_head_dim"),
		mlp: n("mlp"), matrices: 3, tied: r.Word("tied") == "yes", gated: r.Word("gated") == "yes",
		experts: n("experts"), topK: n("top_k"), expertWidth: n("expert_width"), sharedWidth: n("shared_width"),
		denseLayers: n("dense_layers"), moeEvery: n("moe_every"), denseMLP: n("dense_mlp"), beside: r.Word("beside") == "yes",
		window: n("window"), others: int64(r.Optional("others_b") * 1e9), source: r.Text("source"),
	}
	if v := n("matrices"); v > 0 {
		s.matrices = v
	}
	if n("kv_rank") > 0 {
		s.latent = &Latent{QueryRank: n("q_rank"), KVRank: n("kv_rank"), Rope: n("rope"), Nope: n("nope"), Value: n("value")}
	}
	if n("index_top_k") > 0 {
		s.index = &Index{Heads: n("index_heads"), Dim: n("index_dim"), TopK: n("index_top_k")}
	}
	if n("linear_layers") > 0 {
		s.linear = &Linear{
			KeyHeads: n("linear_key_heads"), ValueHeads: n("linear_value_heads"),
			KeyDim: n("linear_key_dim"), ValueDim: n("linear_value_dim"), Conv: 4,
		}
	}
	var err error
	if s.weights, err = ParseWeights(r.Text("weights")); err != nil {
		return nil, err
	}
	if others := n("window_layers"); others > 0 {
		err = s.spread(others, windowed)
	} else if others := n("linear_layers"); others > 0 {
		err = s.spread(others, linear)
	}
	return s, err
}

// spread makes so many layers ones of a kind, as many in front of each full one.
func (s *shape) spread(others int, k kind) error {
	fulls := s.layers - others
	if fulls <= 0 || s.layers%fulls != 0 {
		return fmt.Errorf("%d of %d layers: want as many in front of each full one", others, s.layers)
	}
	s.kinds = everyNth(s.layers, s.layers/fulls, k)
	return nil
}

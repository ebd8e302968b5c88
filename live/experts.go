package live

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
)

// guide gives calls their recorded experts: tables in a folder that the servers read,
// named in the requests (spec/vllm-cpu-live.md 6).
type guide struct {
	file *experts.File
	dir  string
}

// newGuide opens the experts of a trace and makes sure that every server can be told
// them. Less than that is an error; holes in the recording are not.
func newGuide(path, dir string, m force.Mode, servers []*probe.Capabilities) (*guide, error) {
	if m.Level() < force.Tokens {
		return nil, &Unable{fmt.Errorf("experts: exact: outputs are forced by %s, which gives %s: want every token", m.Name(), m.Level())}
	}
	for _, c := range servers {
		switch p := c.Package; {
		case p == nil:
			return nil, &Unable{fmt.Errorf("%s: experts: exact: want the package of integrations/vllm in the server", c.URL)}
		case p.MoE == nil:
			return nil, &Unable{fmt.Errorf("%s: experts: exact: the model has no experts", c.URL)}
		case !p.Armed.Experts:
			return nil, &Unable{fmt.Errorf("%s: experts: exact: want the server started with REPRISE_ROUTES_DIR", c.URL)}
		}
	}
	file, err := experts.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("experts: exact: the trace has none: want %s", path)
	}
	if err != nil {
		return nil, err
	}
	g := &guide{file, dir}
	return g, g.fits(servers)
}

// fits makes sure that the recording is of a model like those of the servers.
func (g *guide) fits(servers []*probe.Capabilities) error {
	keys := g.file.Keys()
	if len(keys) == 0 {
		return nil
	}
	t, err := g.file.Table(keys[0])
	if err != nil {
		return err
	}
	for _, c := range servers {
		if m := c.Package.MoE; t.Layers != m.HiddenLayers || t.TopK != m.TopK {
			return fmt.Errorf("experts: recorded %d in each of %d layers, %s has %d in %d: want a recording of this model", t.TopK, t.Layers, c.URL, m.TopK, m.HiddenLayers)
		}
	}
	return nil
}

// lay puts the table of a call into the folder. It is nil if nothing is known of it.
func (g *guide) lay(t *trace.Task, node int32, name string) (*experts.Table, error) {
	table, err := g.file.Whole(t, int(node))
	if table == nil || err != nil {
		return nil, err
	}
	return table, os.WriteFile(g.path(name), table.AppendNPY(nil), 0o666)
}

// clear removes the table of a call that has ended.
func (g *guide) clear(name string) error {
	if err := os.Remove(g.path(name)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (g *guide) path(name string) string { return filepath.Join(g.dir, name+".npy") }

// tableName names the table of a call in a folder that other runs may use too.
func (l *loop) tableName(n *trace.Node) string {
	return fmt.Sprintf("%s-%d-%016x", word(l.Run), l.repetition, token.Identity(n.ID))
}

// known counts the choices, positions × layers, that a table gives.
func known(t *experts.Table) (n int64) {
	for choice := range t.Choices() {
		if !slices.Contains(choice, experts.Hole) {
			n++
		}
	}
	return n
}

// compareExperts compares the experts that a server says it used with those it was
// told. verified counts the choices that are the same; a server that says nothing has
// not contradicted anything.
func compareExperts(want *experts.Table, a *wire.Answer) (verified int64, d []force.Difference) {
	if a.Experts == "" {
		return 0, nil
	}
	got, err := decodeExperts(a.Experts)
	if err != nil {
		return 0, []force.Difference{{What: "experts", Position: -1, Want: "a table", Got: err.Error()}}
	}
	if got.Rows != want.Rows || got.Layers != want.Layers || got.TopK != want.TopK {
		shape := func(t *experts.Table) string { return fmt.Sprint([]int{t.Rows, t.Layers, t.TopK}) }
		return 0, []force.Difference{{What: "shape of experts", Position: -1, Want: shape(want), Got: shape(got)}}
	}
	for i := 0; i < len(want.IDs); i += want.TopK {
		w, g := want.IDs[i:i+want.TopK], got.IDs[i:i+want.TopK]
		switch {
		case slices.Contains(w, experts.Hole):
		case slices.Equal(w, g):
			verified++
		case d == nil:
			choice := i / want.TopK
			d = []force.Difference{{What: fmt.Sprintf("experts of layer %d at", choice%want.Layers), Position: choice / want.Layers, Want: fmt.Sprint(w), Got: fmt.Sprint(g)}}
		}
	}
	return verified, d
}

func decodeExperts(text string) (*experts.Table, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return experts.DecodeNPY(raw)
}

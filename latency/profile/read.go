package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

// kind is a kind of file, known by its columns.
type kind struct {
	columns []string
	add     func(p *Operators, r *table.Row)
}

// kinds are the files that a folder of operators may hold. Times are µs per layer,
// unless a column says latency (ms).
var kinds = []kind{
	{[]string{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"}, addAttention},
	{[]string{"tokens", "activated_experts", "time_us"}, addExperts},
	{[]string{"layer", "tokens", "time_us"}, func(p *Operators, r *table.Row) { addLayer(p, r, "tokens") }},
	{[]string{"layer", "sequences", "time_us"}, func(p *Operators, r *table.Row) { addLayer(p, r, "sequences") }},
	{[]string{"gemm_dtype", "m", "n", "k", "latency"}, addProduct},
}

// ReadOperators reads all .csv and .csv.gz files of a folder that hold measured
// operators. Rows that beat the speed of light are counted and not used; files of
// other kinds are refused by name.
func ReadOperators(folder string, d *work.Deployment, g *hardware.GPU) (*Operators, error) {
	var paths []string
	for _, pattern := range []string{"*.csv", "*.csv.gz"} {
		more, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, more...)
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no .csv files: want tables of measured operators", folder)
	}
	p := &Operators{d: d, gpu: g, layers: map[string]*Table{}, products: map[string]*Sites{}}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = p.read(path, f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// read reads one table.
func (p *Operators) read(file string, r io.Reader) error {
	t, err := table.Read(file, r)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if slices.ContainsFunc(k.columns, func(c string) bool { return !t.Has(c) }) {
			continue
		}
		for row := range t.Rows() {
			p.Rows++
			k.add(p, row)
		}
		return t.Err()
	}
	var known []string
	for _, k := range kinds {
		known = append(known, strings.Join(k.columns, ","))
	}
	return fmt.Errorf("%s: columns %s: want one of the kinds %s", file, strings.Join(t.Header(), ","), strings.Join(known, "; "))
}

// addLayer adds a part of a layer. Its time at full speed is that of the operator
// that it is all of; of other parts it grows with their size.
func addLayer(p *Operators, r *table.Row, column string) {
	name, size := r.Text("layer"), r.Number(column)
	if p.layers[name] == nil {
		t := NewTable(Linear)
		t.Light = func(point []float64) float64 {
			if us := p.light(name, point[0]); us > 0 {
				return us
			}
			return point[0]
		}
		p.layers[name] = t
	}
	if us := r.Number("time_us"); us >= p.light(name, size) {
		p.layers[name].Add([]float64{size}, us)
	} else {
		p.Rejected++
	}
}

// light is the time at full speed of a part that is a matrix product, 0 of others.
func (p *Operators) light(part string, size float64) float64 {
	ops := p.d.TokenOps(size, nil)
	if part == "lm_head" {
		ops = p.d.HeadOps(size, nil)
	}
	for i := range ops {
		if o := &ops[i]; o.Class == work.GEMM && len(parts[o.Name]) == 1 && parts[o.Name][part] == 1 {
			return p.limit(o)
		}
	}
	return 0
}

// addAttention adds the attention of a pass.
func addAttention(p *Operators, r *table.Row) {
	if p.attention == nil {
		p.attention = NewTable(Quadratic, Linear, Linear, Linear)
		p.attention.Light = p.attentionLight
	}
	point := []float64{r.Number("prefill_chunk"), r.Number("kv_prefill"), r.Number("n_decode"), r.Number("kv_decode")}
	if us := r.Number("time_us"); us >= p.attentionLight(point) {
		p.attention.Add(point, us)
	} else {
		p.Rejected++
	}
}

// attentionLight is the attention of a pass in one layer at full speed: prompts and
// decodes one after the other.
func (p *Operators) attentionLight(point []float64) float64 {
	s := work.Sums{PrefillNew: point[0], PrefillBefore: point[1], DecodeSeqs: point[2], DecodeNew: point[2], DecodeContext: point[2] * (point[3] + 1)}
	if point[0] > 0 {
		s.PrefillSeqs = 1
		s.PrefillPairs = float64(point[0]*point[1]) + float64(point[0]*(point[0]+1)/2)
	}
	us := 0.0
	for _, o := range p.d.AttentionOps(&s, nil) {
		us += p.limit(&o)
	}
	return us
}

// addExperts adds an expert layer.
func addExperts(p *Operators, r *table.Row) {
	if p.experts == nil {
		p.experts = NewTable(Linear, Linear)
		p.experts.Light = func(point []float64) float64 {
			o := p.d.ExpertLayer(point[0]*float64(p.d.Model.Routed().TopK), point[1])
			return p.limit(&o)
		}
	}
	if p.d.Model.Routed() == nil {
		r.Fail("activated_experts", r.Text("activated_experts"), "no table of experts: "+p.d.Model.Name+" has none")
		return
	}
	point := []float64{r.Number("tokens"), r.Number("activated_experts")}
	if us := r.Number("time_us"); us >= p.experts.Light(point) {
		p.experts.Add(point, us)
	} else {
		p.Rejected++
	}
}

// addProduct adds a matrix product of any shape.
func addProduct(p *Operators, r *table.Row) {
	f, err := precision.Find(r.Text("gemm_dtype"))
	if err != nil {
		r.Fail("gemm_dtype", r.Text("gemm_dtype"), "a number format")
		return
	}
	if p.products[f.Name] == nil {
		p.products[f.Name] = NewSites(func(m, n, k float64) float64 {
			o := work.GEMMOp(f, m, n, k)
			return p.limit(&o)
		})
	}
	s := p.products[f.Name]
	m, n, k := r.Number("m"), r.Number("n"), r.Number("k")
	if us := r.Number("latency") * 1e3; us >= s.light(m, n, k) {
		s.Add(m, n, k, us)
	} else {
		p.Rejected++
	}
}

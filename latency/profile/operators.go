package profile

import (
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/work"
)

// Operators are measured operators of one deployment on one GPU, in µs. What was not
// measured it does not answer.
type Operators struct {
	d   *work.Deployment
	gpu *hardware.GPU

	// layers are times of one layer's parts by name: over tokens, or over sequences.
	layers map[string]*Table
	// attention is that of a whole pass in one layer: over the tokens of a prompt chunk,
	// those before it, the decodes, and the tokens before each of them.
	attention *Table
	// experts is one expert layer over tokens and distinct experts.
	experts *Table
	// products are matrix products by number format.
	products map[string]*Sites

	// Rows is the number of measurements, Rejected how many were faster than light and
	// are not used.
	Rows, Rejected int
}

// parts says which measured parts make up an operator, and how often each runs in it.
var parts = map[string]map[string]float64{
	"embedding":   {"embedding": 1, "final_layernorm": 1},
	"qkv":         {"qkv_proj": 1},
	"output":      {"o_proj": 1},
	"mlp-up":      {"gate_up_proj": 1},
	"mlp-down":    {"down_proj": 1},
	"elementwise": {"layernorm": 2, "qk_norm": 1, "rotary_emb": 1, "act_fn": 1},
	"head":        {"lm_head": 1},
	"sampler":     {"sampler": 1},
}

// optionalParts may be missing from a profile: the model has none, or they were
// measured as part of another.
var optionalParts = map[string]bool{"qk_norm": true, "act_fn": true}

// order is the order in which parts are added up.
var order = []string{"embedding", "final_layernorm", "qkv_proj", "o_proj", "gate_up_proj", "down_proj", "layernorm", "qk_norm", "rotary_emb", "act_fn", "lm_head", "sampler"}

// Op is the time of one execution of an operator, ms.
func (p *Operators) Op(o *work.Op) (ms float64, from latency.Provenance, ok bool) {
	if o.Class == work.Experts && p.experts != nil {
		us, from, ok := p.experts.At([]float64{o.Shape.Tokens, o.Shape.Distinct})
		return us / 1e3, from, ok
	}
	if ms, from, ok := p.layer(o); ok {
		return ms, from, true
	}
	if s := p.products[o.Format.Name]; o.Class == work.GEMM && s != nil {
		us, from, ok := s.At(o.Shape.M, o.Shape.N, o.Shape.K)
		return us / 1e3, from, ok
	}
	return 0, 0, false
}

// layer is an operator that is made of measured parts.
func (p *Operators) layer(o *work.Op) (ms float64, from latency.Provenance, ok bool) {
	made, known := parts[o.Name]
	if !known {
		return 0, 0, false
	}
	size := o.Shape.Tokens + o.Shape.M + o.Shape.Seqs // one of them is set
	us := 0.0
	for _, name := range order {
		times, used := made[name]
		if !used {
			continue
		}
		t, f, there := p.layers[name].At([]float64{size})
		if !there {
			if optionalParts[name] {
				continue
			}
			return 0, 0, false
		}
		us += float64(times * t)
		from = max(from, f)
	}
	if o.Name == "elementwise" { // the operator is a quarter of a layer's kernels
		us /= work.StreamKernels
	}
	return us / 1e3, from, true
}

// Attention is the time of the attention of a pass in one layer, ms. Several prompts
// count as one chunk of as many tokens that sees as many pairs.
func (p *Operators) Attention(s *work.Sums) (ms float64, from latency.Provenance, ok bool) {
	if p.attention == nil {
		return 0, 0, false
	}
	chunk, before := s.Chunk()
	decodes, context := s.DecodeSeqs, 0.0
	if decodes > 0 {
		context = max(0, (s.DecodeContext-s.DecodeNew)/decodes)
	}
	us, from, ok := p.attention.At([]float64{chunk, before, decodes, context})
	return us / 1e3, from, ok
}

// limit is the time of an operator at full speed, µs.
func (p *Operators) limit(o *work.Op) float64 {
	c, m := kernel.Limits(o, p.gpu)
	return max(c, m) * 1e3
}

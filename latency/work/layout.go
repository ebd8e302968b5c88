package work

import (
	"fmt"

	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/precision"
)

// Layout is how the model is spread over the GPUs of an instance.
type Layout struct {
	TP int // GPUs that share attention and MLPs of a rank
	DP int // attention data-parallel ranks
	PP int // pipeline stages
	// ExpertTP GPUs share an expert, ExpertEP groups share the experts.
	ExpertTP, ExpertEP int
}

// Sole is a layout of one GPU.
func Sole() Layout { return Layout{TP: 1, DP: 1, PP: 1, ExpertTP: 1, ExpertEP: 1} }

// Tensor is a layout of n GPUs that share everything.
func Tensor(n int) Layout { return Layout{TP: n, DP: 1, PP: 1, ExpertTP: n, ExpertEP: 1} }

// GPUs is the number of GPUs of an instance.
func (l Layout) GPUs() int { return l.TP * l.DP * l.PP }

// String says TP4, DP8 EP8, TP2 PP2: what is 1 is left out, experts only where they
// are not spread as the rest.
func (l Layout) String() string {
	text := ""
	add := func(name string, n int) {
		if n > 1 {
			text += fmt.Sprintf(" %s%d", name, n)
		}
	}
	add("TP", l.TP)
	add("DP", l.DP)
	add("PP", l.PP)
	add("EP", l.ExpertEP)
	if text == "" {
		return "TP1"
	}
	return text[1:]
}

// Deployment is a model spread over GPUs.
type Deployment struct {
	Model   *arch.Model
	Layout  Layout
	Weights arch.Weights
	Cache   precision.Format
	// Routing is which experts tokens choose; only models with experts need it.
	Routing Routing
	// UnpackedDecode: prompts and decodes of a pass go through one kernel in which
	// decodes read the cache once for each query head of a group, not once for all
	// (spec/latency.md 1.6).
	UnpackedDecode bool

	prefill, decode *distinct
	spread          float64 // 2 ln of the groups that share the experts
}

// New checks that a model can be spread as the layout says and prepares what a pass
// needs.
func New(d Deployment) (*Deployment, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.Model.MoE() {
		f := d.Model.Routed()
		d.prefill = newDistinct(f.Experts, f.TopK, d.Routing.Prefill)
		d.decode = newDistinct(f.Experts, f.TopK, d.Routing.Decode)
		d.spread = 2 * lnRanks(float64(d.Layout.ExpertEP))
	}
	return &d, nil
}

// check refuses what cannot be spread.
func (d *Deployment) check() error {
	l := d.Layout
	for _, n := range []int{l.TP, l.DP, l.PP, l.ExpertTP, l.ExpertEP} {
		if n < 1 || n > 1<<12 {
			return fmt.Errorf("layout %+v: want numbers of GPUs from 1 to 4096", l)
		}
	}
	moe := d.Model.MoE()
	if moe && l.ExpertTP*l.ExpertEP != l.TP*l.DP {
		return fmt.Errorf("experts over %d × %d GPUs, attention over %d × %d: want the same GPUs", l.ExpertTP, l.ExpertEP, l.TP, l.DP)
	}
	if depth := d.Model.Depth(); depth < l.PP {
		return fmt.Errorf("%d layers over %d pipeline stages: want a layer for each", depth, l.PP)
	}
	for i := range d.Model.Layers {
		a, f := &d.Model.Layers[i].Attention, &d.Model.Layers[i].FFN
		if h := a.QueryHeads(); h%l.TP != 0 {
			return fmt.Errorf("%d heads over %d GPUs: want a number that divides them", h, l.TP)
		}
		if f.Experts > 0 && f.Experts < l.ExpertEP {
			return fmt.Errorf("%d experts over %d groups of GPUs: want an expert for each", f.Experts, l.ExpertEP)
		}
	}
	return nil
}

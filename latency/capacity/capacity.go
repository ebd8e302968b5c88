package capacity

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/work"
)

// Rule is how an engine reads its fraction of the memory.
type Rule uint8

const (
	OfAll  Rule = iota // of all memory, for everything (vLLM; SGLang for weights and cache)
	OfFree             // of what is left beside everything else, for the cache (TensorRT-LLM)
)

// Settings are what an engine is told about its memory.
type Settings struct {
	Rule Rule
	// Utilization is the fraction of the memory that the engine may use.
	Utilization float64
	BlockSize   int // tokens
	MaxTokens   int // of a pass
	MaxSeqs     int // running at once
	// ReserveBytes is what is neither weights nor cache, where it is known; 0: it is
	// estimated.
	ReserveBytes float64
}

// Breakdown is the memory of the fullest GPU, bytes.
type Breakdown struct {
	Total  float64 `json:"total"`  // as the driver reports it
	Usable float64 `json:"usable"` // by the engine

	Weights     float64 `json:"weights"`
	Activations float64 `json:"activations"` // peak of the largest pass or of sampling
	Runtime     float64 `json:"runtime"`     // context of the driver, buffers of collectives
	States      float64 `json:"states"`      // of linear attention and inside windows, for all sequences

	Cache      float64 `json:"cache"` // what is left
	TokenBytes float64 `json:"token_bytes"`
	BlockBytes float64 `json:"block_bytes"`
	Blocks     int     `json:"blocks"`
}

// fewest is the smallest number of blocks that an engine can work with: one is never
// used.
const fewest = 2

// Plan is the memory of a deployment. Together with an error the breakdown says what
// did not fit.
func Plan(d *work.Deployment, g *hardware.GPU, s Settings) (Breakdown, error) {
	b := plan(d, g, s)
	if b.Blocks < fewest {
		return b, tooLarge(d, g, s, b)
	}
	return b, nil
}

func plan(d *work.Deployment, g *hardware.GPU, s Settings) Breakdown {
	b := Breakdown{
		Total: g.Memory, Usable: s.Utilization * g.Memory,
		Weights: Weights(d), States: states(d, s), TokenBytes: TokenBytes(d),
	}
	if s.ReserveBytes > 0 {
		b.Runtime = s.ReserveBytes
	} else {
		b.Activations, b.Runtime = activations(d, s), runtime(d.Layout)
	}
	others := b.Weights + b.Activations + b.Runtime + b.States
	if s.Rule == OfFree {
		b.Usable = others + float64(s.Utilization*max(0, b.Total-others))
	}
	b.Cache = max(0, b.Usable-others)
	b.BlockBytes = b.TokenBytes * float64(s.BlockSize)
	if b.BlockBytes > 0 {
		b.Blocks = int(math.Floor(b.Cache / b.BlockBytes))
	}
	return b
}

// tooLarge says by how much a model does not fit, and how many GPUs would do.
func tooLarge(d *work.Deployment, g *hardware.GPU, s Settings, b Breakdown) error {
	needs := b.Weights + b.Activations + b.Runtime + b.States + fewest*b.BlockBytes
	text := fmt.Sprintf("%s needs %.1f GB on each %s (weights %.1f) and may use %.1f: %.1f too much", d.Model.Name,
		needs/1e9, g.Name, b.Weights/1e9, b.Usable/1e9, (needs-b.Usable)/1e9)
	for n := 2 * d.Layout.TP; n <= 1024; n *= 2 {
		larger := *d
		larger.Layout.TP = n
		if d.Model.MoE() {
			larger.Layout.ExpertTP = n * d.Layout.DP / d.Layout.ExpertEP
		}
		if more, err := work.New(larger); err == nil && plan(more, g, s).Blocks >= fewest {
			return fmt.Errorf("%s; it fits with tensor parallelism over %d GPUs", text, n)
		}
	}
	return fmt.Errorf("%s", text)
}

// Weights is the bytes of weights on the fullest GPU: shares of what is sharded, all
// of what is not; of a pipeline the stage with the most layers and an end.
func Weights(d *work.Deployment) float64 {
	n, l := d.Model.Params(), d.Layout
	bytes := func(c arch.Component, over int) float64 {
		return float64(float64(n[c])*d.Weights[c].Bytes) / float64(over)
	}
	layers := bytes(arch.AttentionProj, l.TP) + bytes(arch.LatentDown, 1) + bytes(arch.MLP, l.TP) + bytes(arch.Router, 1) +
		bytes(arch.SharedExperts, l.TP)
	if d.Model.MoE() {
		layers += bytes(arch.Experts, l.ExpertTP*l.ExpertEP)
	}
	others := 2 * float64(d.Model.Others) / float64(l.TP)
	first, last := bytes(arch.Embedding, l.TP), bytes(arch.Head, l.TP)
	if l.PP == 1 {
		return layers + first + last + others
	}
	depth := d.Model.Depth()
	return layers*float64((depth+l.PP-1)/l.PP)/float64(depth) + max(first, last) + others
}

// TokenBytes is what a token takes in the cache of the fullest GPU: key and value
// heads are divided over the GPUs of a rank while there are enough of them, latent
// vectors are not. Layers with a narrow window count as states.
func TokenBytes(d *work.Deployment) float64 {
	sum := 0.0
	for i := range d.Model.Layers {
		l := &d.Model.Layers[i]
		if !bounded(&l.Attention) {
			sum += float64(float64(l.Count) * layerBytes(d, &l.Attention))
		}
	}
	return sum / float64(d.Layout.PP)
}

// bounded is whether the cache of a layer stops growing early: then it is set aside
// for every sequence. Windows so wide that sequences seldom fill them count as none.
func bounded(a *arch.Attention) bool { return a.Window > 0 && a.Window <= 4096 }

// layerBytes is what a token takes in one layer.
func layerBytes(d *work.Deployment, a *arch.Attention) float64 {
	switch {
	case a.Linear != nil:
		return 0
	case a.Latent != nil:
		bytes := float64(float64(a.CachedPerToken()) * d.Cache.Bytes)
		if x := a.Index; x != nil {
			bytes += float64(x.Dim) + 4
		}
		return bytes
	}
	heads := max(1, float64(a.KVHeads)/float64(d.Layout.TP))
	return 2 * heads * float64(a.HeadDim) * d.Cache.Bytes
}

// states is what sequences keep whatever their length: states of linear attention in
// fp32, and the last tokens in layers with a window, whose older blocks the engine
// frees.
func states(d *work.Deployment, s Settings) float64 {
	const fp32 = 4
	sum := 0.0
	for i := range d.Model.Layers {
		l := &d.Model.Layers[i]
		switch a := &l.Attention; {
		case a.Linear != nil:
			sum += float64(float64(l.Count)*fp32*float64(a.Linear.State())) / float64(d.Layout.TP)
		case bounded(a):
			sum += float64(float64(l.Count) * float64(a.Window+s.BlockSize) * layerBytes(d, a))
		}
	}
	return sum * float64(s.MaxSeqs) / float64(d.Layout.PP)
}

// Constants of the reserve, set so that the block counts of real vLLM servers come
// out (source blis-kv-blocks and llmservingsim-bench of the ground truth, dense
// models): sampling keeps about 30 bytes for each logit of the sequences that may run
// at once; the driver's context takes 0.25 GB, collectives 0.6 GB for each doubling of
// the ranks.
const (
	bytesPerLogit     = 30
	contextBytes      = 0.25e9
	bytesPerDoubling  = 0.6e9
	residualsPerToken = 2 // hidden states that outlive the layers: output and residual
)

// activations is the larger of two peaks: inside a layer of the largest pass, and
// while tokens are sampled.
func activations(d *work.Deployment, s Settings) float64 {
	const bf16 = 2
	width := 0.0
	for i := range d.Model.Layers {
		f := &d.Model.Layers[i].FFN
		width = max(width, float64(f.Width+f.SharedWidth)/float64(d.Layout.TP), float64(f.TopK*f.ExpertWidth)/float64(d.Layout.ExpertTP))
	}
	hidden, tokens := float64(d.Model.Hidden), float64(s.MaxTokens)
	layer := bf16 * tokens * (float64(3*width) + float64(4*hidden))
	sampling := float64(residualsPerToken*bf16*tokens*hidden) + float64(bytesPerLogit*float64(s.MaxSeqs)*float64(d.Model.Vocab))
	return max(layer, sampling)
}

// runtime is what the driver and the collectives keep.
func runtime(l work.Layout) float64 {
	return contextBytes + float64(bytesPerDoubling*math.Log2(float64(l.TP*l.DP*l.PP)))
}

package arch

import "github.com/reprise-sim/reprise/latency/precision"

// Model is a decoder-only transformer, or a hybrid with linear attention.
type Model struct {
	Name   string
	Hidden int // width of the residual stream
	Vocab  int
	// TiedHead: the LM head is the embedding, there is one matrix for both.
	TiedHead bool
	Layers   []Layer // groups of equal layers; their order does not matter to a cost
	// Weights is how the checkpoint keeps its parameters.
	Weights Weights
	// Others are parameters outside the decoder, such as a vision tower: they take
	// memory on the GPUs and no time in a pass.
	Others int64
	Source string
}

// Layer is a group of equal layers.
type Layer struct {
	Count     int
	Attention Attention
	FFN       FFN
}

// Attention is the sequence mixer of a layer: grouped-query attention, unless Latent
// or Linear is set.
type Attention struct {
	Heads, KVHeads, HeadDim int
	// Window is how many of the last tokens a query sees; 0: all of them.
	Window int
	// Gated: the output is multiplied by a gate of its own, so the query projection
	// is twice as wide.
	Gated  bool
	Latent *Latent
	Index  *Index
	Linear *Linear
}

// Latent is multi-head latent attention: keys and values of a token are kept as one
// vector of KVRank + Rope elements for all heads (spec/latency.md 1.7).
type Latent struct {
	QueryRank int // 0: queries are projected at once
	KVRank    int
	Rope      int // part of a key that carries the position
	Nope      int // rest of a key
	Value     int
}

// Index is sparse attention: an indexer scores all tokens with small heads, the
// attention itself sees the TopK best (spec/latency.md 1.7).
type Index struct{ Heads, Dim, TopK int }

// Linear is a gated delta net: a state of ValueHeads × KeyDim × ValueDim instead of a
// cache (spec/latency.md 1.7).
type Linear struct {
	KeyHeads, ValueHeads, KeyDim, ValueDim int
	Conv                                   int // width of the convolution in front
}

// FFN is the feed-forward part: a dense MLP, experts, or both side by side.
type FFN struct {
	Width int // of the dense MLP; 0: none
	// Matrices of an MLP or an expert: 3 with a gate, else 2.
	Matrices int

	Experts, TopK int // 0: none
	ExpertWidth   int
	SharedWidth   int // of an expert that every token visits; 0: none
}

// Depth is the number of layers.
func (m *Model) Depth() int {
	n := 0
	for i := range m.Layers {
		n += m.Layers[i].Count
	}
	return n
}

// Window is the window of the windowed layers, 0 if there are none. Layers of one
// model share it; what a sparse layer sees counts as one.
func (m *Model) Window() int {
	for i := range m.Layers {
		if w := m.Layers[i].Attention.Reach(); w > 0 {
			return w
		}
	}
	return 0
}

// Reach is how many tokens a query attends to at most, 0 for no bound.
func (a *Attention) Reach() int {
	if a.Index != nil {
		return a.Index.TopK
	}
	return a.Window
}

// MoE is whether any layer has experts.
func (m *Model) MoE() bool {
	for i := range m.Layers {
		if m.Layers[i].FFN.Experts > 0 {
			return true
		}
	}
	return false
}

// CachedPerToken is the elements that a token leaves in the cache of one layer: keys
// and values of all heads, or the latent vector; 0 for linear attention.
func (a *Attention) CachedPerToken() int {
	switch {
	case a.Linear != nil:
		return 0
	case a.Latent != nil:
		return a.Latent.KVRank + a.Latent.Rope
	}
	return 2 * a.KVHeads * a.HeadDim
}

// State is the elements of the state that a sequence keeps in one layer.
func (l *Linear) State() int { return l.ValueHeads * l.KeyDim * l.ValueDim }

// KVBytesPerToken is the cache of a token over all layers and all GPUs, bytes: what
// one copy of the model keeps, windows not considered.
func (m *Model) KVBytesPerToken(f precision.Format) float64 {
	n := 0
	for i := range m.Layers {
		n += m.Layers[i].Count * m.Layers[i].Attention.CachedPerToken()
	}
	return float64(n) * f.Bytes
}

// QueryHeads is the heads that GPUs of a tensor-parallel group share.
func (a *Attention) QueryHeads() int {
	if a.Linear != nil {
		return a.Linear.ValueHeads
	}
	return a.Heads
}

// Routed is the feed-forward part of the layers with experts, nil if there are none.
// Layers of one model route alike.
func (m *Model) Routed() *FFN {
	for i := range m.Layers {
		if f := &m.Layers[i].FFN; f.Experts > 0 {
			return f
		}
	}
	return nil
}

package arch

import "github.com/reprise-sim/reprise/latency/precision"

// Component is a part of a model whose parameters are sharded and stored alike.
type Component uint8

const (
	Embedding     Component = iota
	Head                    // LM head
	AttentionProj           // projections of attention, those of a latent cache apart
	LatentDown              // the projections into the latent vectors: a copy on every GPU
	MLP                     // dense feed-forward
	Router
	SharedExperts
	Experts
	Components // how many there are
)

var componentNames = [Components]string{"embedding", "head", "attention", "latent", "mlp", "router", "shared experts", "experts"}

func (c Component) String() string { return componentNames[c] }

// Weights is the number format of each component.
type Weights [Components]precision.Format

// Uniform is weights that are quantised as checkpoints usually are: embedding, head
// and router stay as trained (spec/latency.md 1.10).
func Uniform(f precision.Format) Weights {
	var w Weights
	for c := range w {
		w[c] = f
	}
	for _, c := range []Component{Embedding, Head, Router} {
		if f.Bytes < 2 {
			w[c] = precision.BF16
		}
	}
	return w
}

// Params counts the parameters of each component. Norms, biases, convolutions and
// prediction heads of further tokens are left out.
func (m *Model) Params() [Components]int64 {
	var n [Components]int64
	n[Embedding] = int64(m.Vocab) * int64(m.Hidden)
	if !m.TiedHead {
		n[Head] = n[Embedding]
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		own := l.params(m.Hidden)
		for c := range own {
			n[c] += int64(l.Count) * own[c]
		}
	}
	return n
}

// params counts those of one layer.
func (l *Layer) params(hidden int) [Components]int64 {
	var n [Components]int64
	h := int64(hidden)
	n[AttentionProj], n[LatentDown] = l.Attention.params(h)
	f := &l.FFN
	n[MLP] = int64(f.Matrices*f.Width) * h
	n[SharedExperts] = int64(f.Matrices*f.SharedWidth) * h
	n[Experts] = int64(f.Experts*f.Matrices) * int64(f.ExpertWidth) * h
	n[Router] = int64(f.Experts) * h
	return n
}

// params counts the projections: those that are sharded over GPUs by heads, and
// those into latent vectors.
func (a *Attention) params(h int64) (sharded, latent int64) {
	switch {
	case a.Linear != nil:
		l := a.Linear
		in := int64(2*l.KeyHeads*l.KeyDim + 2*l.ValueHeads*l.ValueDim + 2*l.ValueHeads)
		return h*in + int64(l.ValueHeads*l.ValueDim)*h, 0
	case a.Latent != nil:
		l := a.Latent
		heads := int64(a.Heads)
		query := int64(l.QueryRank)
		if query == 0 {
			query = h
		}
		sharded = query*heads*int64(l.Nope+l.Rope) + int64(l.KVRank)*heads*int64(l.Nope+l.Value) + heads*int64(l.Value)*h
		latent = h * int64(l.QueryRank+l.KVRank+l.Rope)
		if x := a.Index; x != nil {
			latent += query*int64(x.Heads*x.Dim) + h*int64(x.Dim+x.Heads)
		}
		return sharded, latent
	}
	query := a.Heads * a.HeadDim
	if a.Gated {
		query *= 2
	}
	return h * int64(query+2*a.KVHeads*a.HeadDim+a.Heads*a.HeadDim), 0
}

// Total is all parameters of the decoder.
func (m *Model) Total() int64 {
	var sum int64
	for _, n := range m.Params() {
		sum += n
	}
	return sum
}

// Active is the parameters that a token meets: of the experts those it is routed to,
// the LM head, not the embedding.
func (m *Model) Active() int64 {
	n := m.Params()
	sum := int64(m.Vocab)*int64(m.Hidden) + n[AttentionProj] + n[LatentDown] + n[MLP] + n[Router] + n[SharedExperts]
	for i := range m.Layers {
		f := &m.Layers[i].FFN
		sum += int64(m.Layers[i].Count) * int64(f.TopK*f.Matrices) * int64(f.ExpertWidth) * int64(m.Hidden)
	}
	return sum
}

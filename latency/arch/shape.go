package arch

import (
	"fmt"
	"strings"
)

// shape is a model as configurations state it: numbers that hold for all layers, and
// which layers are of another kind.
type shape struct {
	name                         string
	layers, hidden, vocab        int
	heads, kvHeads, headDim      int
	globalKVHeads, globalHeadDim int // of layers that see everything beside windowed ones; 0: as the others
	mlp                          int
	matrices                     int
	tied, gated                  bool
	experts, topK                int
	expertWidth, sharedWidth     int
	denseLayers                  int  // the first ones, without experts
	moeEvery                     int  // every n-th layer has experts, 0 and 1: all
	denseMLP                     int  // width of the MLP in layers without experts; 0: mlp
	beside                       bool // layers with experts have the dense MLP too
	window                       int
	kinds                        []kind // of attention, by layer; nil: all of them full
	latent                       *Latent
	index                        *Index
	linear                       *Linear
	weights                      Weights
	others                       int64
	source                       string
}

// kind is which tokens the attention of a layer sees.
type kind uint8

const (
	full kind = iota
	windowed
	linear
)

// everyNth is the kinds of a stack in which every n-th layer is full and the others
// are of another kind.
func everyNth(layers, n int, others kind) []kind {
	kinds := make([]kind, layers)
	for i := range kinds {
		if (i+1)%n != 0 {
			kinds[i] = others
		}
	}
	return kinds
}

// model checks a shape and makes the model of it.
func (s *shape) model() (*Model, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	m := &Model{
		Name: s.name, Hidden: s.hidden, Vocab: s.vocab, TiedHead: s.tied,
		Weights: s.weights, Others: s.others, Source: s.source,
	}
	for i := range s.layers {
		m.add(s.attention(i), s.ffn(i))
	}
	return m, nil
}

// add puts a layer into the group of its equals.
func (m *Model) add(a Attention, f FFN) {
	for i := range m.Layers {
		if l := &m.Layers[i]; l.Attention == a && l.FFN == f {
			l.Count++
			return
		}
	}
	m.Layers = append(m.Layers, Layer{Count: 1, Attention: a, FFN: f})
}

// attention is that of layer i.
func (s *shape) attention(i int) Attention {
	a := Attention{Heads: s.heads, KVHeads: s.kvHeads, HeadDim: s.headDim, Gated: s.gated, Latent: s.latent, Index: s.index}
	if s.kinds == nil {
		return a
	}
	switch s.kinds[i] {
	case windowed:
		a.Window = s.window
	case linear:
		return Attention{Linear: s.linear}
	default:
		if s.globalKVHeads > 0 {
			a.KVHeads = s.globalKVHeads
		}
		if s.globalHeadDim > 0 {
			a.HeadDim = s.globalHeadDim
		}
	}
	return a
}

// ffn is that of layer i.
func (s *shape) ffn(i int) FFN {
	if s.experts == 0 || i < s.denseLayers || s.moeEvery > 1 && (i+1)%s.moeEvery != 0 {
		width := s.mlp
		if s.experts > 0 && s.denseMLP > 0 {
			width = s.denseMLP
		}
		return FFN{Width: width, Matrices: s.matrices}
	}
	f := FFN{Matrices: s.matrices, Experts: s.experts, TopK: s.topK, ExpertWidth: s.expertWidth, SharedWidth: s.sharedWidth}
	if s.beside {
		f.Width = s.mlp
	}
	return f
}

// check refuses what cannot be a model.
func (s *shape) check() error {
	var wrong []string
	positive := func(name string, v int) {
		if v <= 0 || v > 1<<24 {
			wrong = append(wrong, fmt.Sprintf("%s %d", name, v))
		}
	}
	positive("layers", s.layers)
	positive("hidden size", s.hidden)
	positive("vocabulary", s.vocab)
	positive("heads", s.heads)
	switch {
	case s.latent != nil:
		positive("latent rank", s.latent.KVRank)
		positive("value head dim", s.latent.Value)
		positive("key head dim", s.latent.Nope+s.latent.Rope)
	default:
		positive("key/value heads", s.kvHeads)
		positive("head dim", s.headDim)
		if s.kvHeads > 0 && s.heads%s.kvHeads != 0 {
			wrong = append(wrong, fmt.Sprintf("heads %d over key/value heads %d", s.heads, s.kvHeads))
		}
	}
	if s.experts > 0 {
		positive("experts", s.experts)
		positive("experts per token", s.topK)
		positive("expert width", s.expertWidth)
		if s.topK > s.experts {
			wrong = append(wrong, fmt.Sprintf("experts per token %d of %d", s.topK, s.experts))
		}
	}
	if s.experts == 0 || s.denseLayers > 0 {
		positive("MLP width", s.mlp)
	}
	for _, k := range s.kinds {
		if k == windowed && s.window <= 0 || k == linear && s.linear == nil {
			wrong = append(wrong, "layers of a kind that is not described")
			break
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: want sizes above 0 that fit each other", strings.Join(wrong, ", "))
	}
	return nil
}

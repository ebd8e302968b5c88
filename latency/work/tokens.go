package work

import "github.com/reprise-sim/reprise/latency/arch"

// Ops appends all operators of a pass to dst, in about the order of their execution.
func (d *Deployment) Ops(p *Sums, dst []Op) []Op {
	dst = d.TokenOps(p.PrefillNew+p.decodes(), dst)
	dst = d.AttentionOps(p, dst)
	dst = d.ExpertOps(p.PrefillNew, p.decodes(), dst)
	return d.HeadOps(p.Sampled, dst)
}

// TokenOps appends the operators whose size follows from the number of new tokens t
// of a rank alone: projections, MLPs, what stands between them, and the messages of
// tensor parallelism.
func (d *Deployment) TokenOps(t float64, dst []Op) []Op {
	if t <= 0 {
		return dst
	}
	h := float64(d.Model.Hidden)
	dst = append(dst, Op{Name: "embedding", Class: Stream, Times: 1, Moved: 2 * bf16 * t * h, Shape: Shape{Tokens: t}})
	for i := range d.Model.Layers {
		l := &d.Model.Layers[i]
		dst = d.projections(l, t, dst)
		dst = d.mlp(l, t, dst)
		dst = append(dst, d.stream(l, t))
		dst = d.layerMessages(l, t, dst)
	}
	if n := d.Layout.PP; n > 1 {
		dst = append(dst, Op{Name: "pipeline", Class: Send, Times: n - 1, Message: bf16 * t * h, Ranks: 2})
	}
	return dst
}

// share is a size divided over the GPUs of a rank; what cannot be divided further is
// copied.
func share(n, gpus int) float64 { return max(float64(n)/float64(gpus), 1) }

// projections are the matrix products in front of attention and behind it.
func (d *Deployment) projections(l *arch.Layer, t float64, dst []Op) []Op {
	a, h, tp, f := &l.Attention, float64(d.Model.Hidden), d.Layout.TP, d.Weights[arch.AttentionProj]
	switch {
	case a.Linear != nil:
		s := a.Linear
		in := share(2*s.KeyHeads*s.KeyDim+2*s.ValueHeads*s.ValueDim+2*s.ValueHeads, tp)
		return append(dst,
			gemm("linear-in", f, l.Count, t, in, h),
			gemm("output", f, l.Count, t, h, share(s.ValueHeads*s.ValueDim, tp)))
	case a.Latent != nil:
		return d.latentProjections(l, t, dst)
	}
	query := share(a.Heads, tp)
	out := query * float64(a.HeadDim)
	if a.Gated {
		query *= 2
	}
	qkv := (query + 2*share(a.KVHeads, tp)) * float64(a.HeadDim)
	return append(dst, gemm("qkv", f, l.Count, t, qkv, h), gemm("output", f, l.Count, t, h, out))
}

// latentProjections are those of latent attention: into the latent vectors, a copy
// on every GPU, and out of them, by heads. Those out of the cache's vectors belong to
// attention.
func (d *Deployment) latentProjections(l *arch.Layer, t float64, dst []Op) []Op {
	a, h, f := &l.Attention, float64(d.Model.Hidden), d.Weights[arch.AttentionProj]
	v, heads := a.Latent, share(a.Heads, d.Layout.TP)
	down := v.QueryRank + v.KVRank + v.Rope
	dst = append(dst, gemm("latent-down", d.Weights[arch.LatentDown], l.Count, t, float64(down), h))
	from := float64(v.QueryRank)
	if v.QueryRank == 0 {
		from = h
	}
	dst = append(dst, gemm("query-up", f, l.Count, t, heads*float64(v.Nope+v.Rope), from))
	if x := a.Index; x != nil {
		w := d.Weights[arch.LatentDown]
		dst = append(dst,
			gemm("index-query", w, l.Count, t, float64(x.Heads*x.Dim), from),
			gemm("index-key", w, l.Count, t, float64(x.Dim+x.Heads), h))
	}
	return append(dst, gemm("output", f, l.Count, t, h, heads*float64(v.Value)))
}

// mlp is the dense part of the feed-forward layer: MLP, router, shared expert.
func (d *Deployment) mlp(l *arch.Layer, t float64, dst []Op) []Op {
	f, h, tp := &l.FFN, float64(d.Model.Hidden), d.Layout.TP
	pair := func(name string, c arch.Component, width int) {
		w := share(width, tp)
		dst = append(dst,
			gemm(name+"-up", d.Weights[c], l.Count, t, float64(f.Matrices-1)*w, h),
			gemm(name+"-down", d.Weights[c], l.Count, t, h, w))
	}
	if f.Width > 0 {
		pair("mlp", arch.MLP, f.Width)
	}
	if f.Experts > 0 {
		dst = append(dst, gemm("router", d.Weights[arch.Router], l.Count, t, float64(f.Experts), h))
	}
	if f.SharedWidth > 0 {
		pair("shared", arch.SharedExperts, f.SharedWidth)
	}
	return dst
}

// StreamKernels is the kernels of a layer between its matrix products.
const StreamKernels = 4

// stream is two norms, the rotary embedding and an activation of a layer, each a
// kernel that is bound by memory (spec/latency.md 1.9).
func (d *Deployment) stream(l *arch.Layer, t float64) Op {
	a, tp := &l.Attention, d.Layout.TP
	mixer := 2 * (share(a.Heads, tp) + 2*share(a.KVHeads, tp)) * float64(a.HeadDim)
	switch {
	case a.Latent != nil:
		mixer = 2 * share(a.Heads, tp) * float64(a.Latent.Nope+a.Latent.Rope+a.Latent.Value)
	case a.Linear != nil:
		mixer = 4 * share(a.Linear.ValueHeads*a.Linear.ValueDim, tp)
	}
	width := 0.0
	if n := l.FFN.Width + l.FFN.SharedWidth; n > 0 {
		width = share(n, tp)
	}
	elements := float64(8*float64(d.Model.Hidden)) + float64(3*width) + float64(mixer)
	return Op{Name: "elementwise", Class: Stream, Times: StreamKernels * l.Count, Moved: bf16 * t * elements / StreamKernels, Shape: Shape{Tokens: t}}
}

// layerMessages are the collectives of a layer (spec/latency.md 1.11): two sums
// under tensor parallelism; the tokens of all ranks to the experts and back under
// attention data parallelism.
func (d *Deployment) layerMessages(l *arch.Layer, t float64, dst []Op) []Op {
	lay := d.Layout
	size := bf16 * t * float64(d.Model.Hidden)
	sums := 2
	if l.FFN.Experts > 0 && lay.DP > 1 {
		sums = 1
		n := lay.TP * lay.DP
		all := size * float64(lay.DP)
		dst = append(dst,
			Op{Name: "gather-tokens", Class: AllGather, Times: l.Count, Message: all, Ranks: n},
			Op{Name: "scatter-sums", Class: ReduceScatter, Times: l.Count, Message: all, Ranks: n})
	}
	if lay.TP > 1 {
		dst = append(dst, Op{Name: "all-reduce", Class: AllReduce, Times: sums * l.Count, Message: size, Ranks: lay.TP})
	}
	return dst
}

// HeadOps appends the LM head over n tokens that are sampled, and the choice of
// their successors.
func (d *Deployment) HeadOps(n float64, dst []Op) []Op {
	if n <= 0 {
		return dst
	}
	tp, v := d.Layout.TP, float64(d.Model.Vocab)
	part := v / float64(tp)
	f := d.Weights[arch.Head]
	if d.Model.TiedHead {
		f = d.Weights[arch.Embedding]
	}
	dst = append(dst, gemm("head", f, 1, n, part, float64(d.Model.Hidden)))
	if tp > 1 {
		dst = append(dst, Op{Name: "gather-logits", Class: AllGather, Times: 1, Message: bf16 * n * v, Ranks: tp})
	}
	return append(dst, Op{Name: "sampler", Class: Sampling, Times: 1, Moved: 4 * n * v, Shape: Shape{Seqs: n}})
}

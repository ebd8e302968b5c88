package work

import (
	"strconv"

	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/precision"
)

// Rates are what the attention of one layer of a group costs for each unit of the
// sums of a pass: an operator over the cache is linear in them.
type Rates struct {
	Times  int // layers of the group
	Window int // what attention sees of a sequence; 0: everything
	// Context and Decode are the operators over prompts and decodes.
	Context, Decode Rate
	// Rereads is how often decodes read their cache beside prompts: more than once if
	// one kernel that does not pack the query heads of a group runs both.
	Rereads float64
	// UpN × UpK is the matrix out of the latent vectors, which prompts apply to all
	// they see and decodes to what is new; 0: there is none.
	UpN, UpK float64
	Up       precision.Format
	// Index is the scores of an indexer, over everything whatever the window.
	Index Rate
	// State is linear attention: the state of each sequence, FLOPs for each new token.
	State Rate
}

// Rate is the cost of an operator for each unit of its sums.
type Rate struct {
	Class  Class // valid if the rate is not zero
	Format precision.Format
	Family string // of kernels, by the size of a head

	PairFLOPs  float64 // for each (new token, token it attends to)
	ReadBytes  float64 // of the cache, for each token that is attended to
	TokenBytes float64 // of activations, for each new token
	ReadMoved  float64 // of activations, for each token that is attended to

	TokenFLOPs    float64 // linear attention: for each new token
	SequenceBytes float64 // linear attention: for each sequence
}

// rates are those of a group of layers.
func (d *Deployment) rates(l *arch.Layer) Rates {
	switch {
	case l.Attention.Linear != nil:
		return d.linearRates(l)
	case l.Attention.Latent != nil:
		return d.latentRates(l)
	}
	return d.groupedRates(l)
}

// Attention lists the rates of all groups of layers.
func (d *Deployment) Attention() []Rates {
	var list []Rates
	for i := range d.Model.Layers {
		list = append(list, d.rates(&d.Model.Layers[i]))
	}
	return list
}

// groupedRates is grouped-query attention (spec/latency.md 1.4, 1.5).
func (d *Deployment) groupedRates(l *arch.Layer) Rates {
	a, tp := &l.Attention, d.Layout.TP
	heads, kv, dim := share(a.Heads, tp), share(a.KVHeads, tp), float64(a.HeadDim)
	r := Rate{
		Class: ContextAttention, Format: d.Cache, Family: HeadFamily(a.HeadDim),
		PairFLOPs: 4 * heads * dim, ReadBytes: 2 * kv * dim * d.Cache.Bytes, TokenBytes: 2 * bf16 * heads * dim,
	}
	rates := Rates{Times: l.Count, Window: a.Window, Context: r, Decode: r, Rereads: 1}
	rates.Decode.Class = DecodeAttention
	if d.UnpackedDecode {
		rates.Rereads = unpacked(float64(a.Heads) / float64(a.KVHeads))
	}
	return rates
}

// latentRates is latent attention (spec/latency.md 1.7): prompts expand keys and
// values of everything they see, decodes go into the latent space instead.
func (d *Deployment) latentRates(l *arch.Layer) Rates {
	a, v := &l.Attention, l.Attention.Latent
	heads, rank := share(a.Heads, d.Layout.TP), float64(v.KVRank)
	wide := float64(heads * float64(v.Nope+v.Rope+v.Value))
	cached := d.Cache.Bytes * float64(a.CachedPerToken())
	r := Rates{
		Times: l.Count, Window: a.Reach(), Rereads: 1,
		Context: Rate{Class: LatentContext, Format: d.Cache, PairFLOPs: 2 * wide, ReadBytes: cached, TokenBytes: bf16 * wide, ReadMoved: bf16 * wide},
		Decode: Rate{Class: LatentDecode, Format: d.Cache, PairFLOPs: 2 * heads * (float64(2*rank) + float64(v.Rope)), ReadBytes: cached,
			TokenBytes: 2 * bf16 * heads * rank},
		UpN: heads * float64(v.Nope+v.Value), UpK: rank, Up: d.Weights[arch.AttentionProj],
	}
	if x := a.Index; x != nil {
		const scale = 4 // bytes beside the fp8 vector of a token
		r.Index = Rate{Class: IndexScore, PairFLOPs: 2 * float64(x.Heads*x.Dim), ReadBytes: float64(x.Dim + scale)}
	}
	return r
}

// linearRates is linear attention (spec/latency.md 1.7): each sequence reads and
// writes its state, new tokens compute in chunks.
func (d *Deployment) linearRates(l *arch.Layer) Rates {
	const fp32, chunked = 4, 8 // bytes; FLOPs per element of the state and token
	state := share(l.Attention.Linear.State(), d.Layout.TP)
	return Rates{Times: l.Count, State: Rate{Class: LinearState, TokenFLOPs: chunked * state, SequenceBytes: 2 * fp32 * state}}
}

// HeadFamily names kernels by the size of a head.
func HeadFamily(dim int) string { return "d" + strconv.Itoa(dim) }

// AttentionOps appends the operators that read the cache.
func (d *Deployment) AttentionOps(p *Sums, dst []Op) []Op {
	for i := range d.Model.Layers {
		r := d.rates(&d.Model.Layers[i])
		dst = d.ops(&r, &d.Model.Layers[i].Attention, p, dst)
	}
	return dst
}

// ops are the operators of a group of layers.
func (d *Deployment) ops(r *Rates, a *arch.Attention, p *Sums, dst []Op) []Op {
	in := p.Within(r.Window)
	if r.State.Class == LinearState {
		return append(dst, Op{
			Name: "linear-state", Class: LinearState, Times: r.Times,
			FLOPs: r.State.TokenFLOPs * p.Tokens(), Cache: r.State.SequenceBytes * (p.PrefillSeqs + p.DecodeSeqs),
		})
	}
	if p.PrefillNew > 0 {
		if r.UpN > 0 {
			dst = append(dst, gemm("expand", r.Up, r.Times, in.Prefill, r.UpN, r.UpK))
		}
		o := r.Context.op("context-attention", r.Times, in.Pairs, in.Prefill, p.PrefillNew)
		o.Shape = d.attentionShape(a, p.PrefillSeqs, p.PrefillNew, p.PrefillBefore)
		dst = append(dst, o)
	}
	if p.DecodeNew > 0 {
		if r.UpN > 0 {
			dst = append(dst, gemm("absorb", r.Up, r.Times, p.DecodeNew, r.UpN, r.UpK))
		}
		o := r.Decode.op("decode-attention", r.Times, in.Decode, in.Decode, p.DecodeNew)
		if p.PrefillNew > 0 {
			o.Cache *= r.Rereads
		}
		o.Shape = d.attentionShape(a, p.DecodeSeqs, p.DecodeNew, p.DecodeContext-p.DecodeNew)
		dst = append(dst, o)
	}
	if r.Index.Class == IndexScore {
		dst = append(dst, r.Index.op("index-scores", r.Times, p.PrefillPairs+p.DecodeContext, p.PrefillBefore+p.PrefillNew+p.DecodeContext, 0))
	}
	return dst
}

// op is the operator of a rate for pairs, tokens that are read, and new tokens.
func (r *Rate) op(name string, times int, pairs, reads, tokens float64) Op {
	return Op{
		Name: name, Class: r.Class, Format: r.Format, Times: times, FLOPs: r.PairFLOPs * pairs,
		Cache: r.ReadBytes * reads, Moved: float64(r.TokenBytes*tokens) + float64(r.ReadMoved*reads),
	}
}

// unpacked is how often decodes read their cache in a kernel that does not pack the
// query heads of a group: 1.7 and 3.0 times for groups of 4 and 8 (spec/latency.md
// 1.6), a straight line through both.
func unpacked(group float64) float64 { return max(1, 0.4+float64(0.325*group)) }

// attentionShape is what tables of attention are asked by.
func (d *Deployment) attentionShape(a *arch.Attention, seqs, tokens, before float64) Shape {
	s := Shape{
		Heads: int(share(a.Heads, d.Layout.TP)), HeadDim: a.HeadDim, Window: a.Window,
		Seqs: seqs, New: tokens / seqs, Before: before / seqs,
	}
	if a.Latent == nil {
		s.KVHeads = int(share(a.KVHeads, d.Layout.TP))
	}
	return s
}

package roofline

import (
	"math"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/work"
)

// attention is the price of one group of layers for what reads the cache, as
// coefficients of the sums of a pass, ms; times and factors are in them.
type attention struct {
	window          int
	context, decode rate
	rereads         float64 // of the cache by decodes beside prompts
	expand, absorb  product
	index, state    rate
}

// rate is a law over a [work.Rate]: launch + √((pair·pairs + tokenCompute·tokens)² + (read·reads + moved·reads + token·tokens)²).
type rate struct {
	launch, pair, read, moved, token float64
	tokenCompute, sequence           float64
	// Where a calibration would make the operator faster than its limits, these are
	// what it takes: fractions of its two terms.
	computeLimit, memoryLimit float64
}

// product is a law over a matrix product of m rows.
type product struct {
	rest                      float64 // launch, weighed
	compute, weights, rows    float64 // for each row; for the matrix; for each row
	side                      float64 // for each row, weighed
	computeFactor, readFactor float64
	computeLimit, readLimit   float64 // fractions of the two terms at full speed
	on                        bool
}

// compile makes the coefficients of a group of layers.
func (m *Model) compile(r *work.Rates) attention {
	a := attention{window: r.Window, rereads: 1}
	times := float64(r.Times)
	if r.State.Class == work.LinearState {
		a.state = m.compileRate(&r.State, times, Decode)
		return a
	}
	a.context = m.compileRate(&r.Context, times, Context)
	a.decode = m.compileRate(&r.Decode, times, Decode)
	a.rereads = r.Rereads
	if r.Index.Class == work.IndexScore {
		a.index = m.compileRate(&r.Index, times, Decode)
	}
	if r.UpN > 0 {
		a.expand = m.compileProduct(r, times)
		a.absorb = a.expand
	}
	return a
}

// compileRate is a rate as its law prices it.
func (m *Model) compileRate(r *work.Rate, times float64, g Group) rate {
	law := m.laws[lawKey{r.Class, r.Format.Name, r.Family}]
	scale := times * m.factors[g]
	compute := scale * inverse(law.Compute*m.gpu.BF16) * 1e3
	memory := scale * inverse(law.Memory*m.gpu.Bandwidth) * 1e3
	return rate{
		launch: scale * law.LaunchMs,
		pair:   r.PairFLOPs * compute, tokenCompute: r.TokenFLOPs * compute,
		read: r.ReadBytes * memory, moved: r.ReadMoved * memory, token: r.TokenBytes * memory, sequence: r.SequenceBytes * memory,
		computeLimit: law.Compute / m.factors[g], memoryLimit: law.Memory / m.factors[g],
	}
}

// inverse is 1/v, 0 for a limit that does not apply.
func inverse(v float64) float64 {
	if v == 0 {
		return 0
	}
	return 1 / v
}

// ms is the price for pairs, tokens that are read, new tokens and sequences.
func (r *rate) ms(pairs, reads, rereads, tokens, seqs float64) float64 {
	c := float64(r.pair*pairs) + float64(r.tokenCompute*tokens)
	b := float64(r.read*reads*rereads) + float64(r.moved*reads) + float64(r.token*tokens) + float64(r.sequence*seqs)
	return max(r.launch+math.Sqrt(float64(c*c)+float64(b*b)), r.computeLimit*c, r.memoryLimit*b)
}

// compileProduct is the product with the matrix out of the latent vectors.
func (m *Model) compileProduct(r *work.Rates, times float64) product {
	law := m.laws[lawKey{work.GEMM, r.Up.Name, ""}]
	one, two := work.GEMMOp(r.Up, 32, r.UpN, r.UpK), work.GEMMOp(r.Up, 64, r.UpN, r.UpK)
	t, u := law.Terms(&one, &m.gpu), law.Terms(&two, &m.gpu)
	perRow := (u.Memory - t.Memory) / 32
	return product{
		on: true, rest: times * m.factors[Rest] * t.Launch, side: times * m.factors[Rest] * t.Side / 32,
		compute: times * t.Compute / 32, rows: times * perRow, weights: times * (t.Memory - float64(32*perRow)),
		computeFactor: m.factors[Compute], readFactor: m.factors[Memory], computeLimit: law.Compute, readLimit: law.Memory,
	}
}

// ms is the price of the product with n rows.
func (p *product) ms(n float64) float64 {
	if !p.on || n <= 0 {
		return 0
	}
	rows := max(n, 16)
	c, b := p.compute*rows, p.weights+float64(p.rows*rows)
	both := math.Sqrt(float64(c*c) + float64(b*b))
	ms := p.rest + float64(p.side*n) + float64(p.computeFactor*(c*c/both)) + float64(p.readFactor*(b*b/both))
	return max(ms, p.computeLimit*c, p.readLimit*b)
}

// cached is the price of all that reads the cache.
func (m *Model) cached(s *work.Sums) float64 {
	ms := 0.0
	if s.Tokens() == 0 {
		return ms
	}
	if m.tables != nil {
		if measured, _, ok := m.measuredAttention(*s); ok {
			return measured
		}
	}
	for i := range m.attention {
		ms += m.attention[i].ms(s)
	}
	return ms
}

// measuredAttention is all that reads the cache in all layers, if it was measured.
func (m *Model) measuredAttention(s work.Sums) (ms float64, from latency.Provenance, ok bool) {
	ms, from, ok = m.tables.Attention(&s)
	return ms * float64(m.d.Model.Depth()), from, ok
}

// ms is the price of a group of layers.
func (a *attention) ms(s *work.Sums) float64 {
	if a.state.launch > 0 {
		return a.state.ms(0, 0, 1, s.Tokens(), s.PrefillSeqs+s.DecodeSeqs)
	}
	in, ms := s.Within(a.window), 0.0
	rereads := 1.0
	if s.PrefillNew > 0 {
		ms += a.context.ms(in.Pairs, in.Prefill, 1, s.PrefillNew, 0) + a.expand.ms(in.Prefill)
		rereads = a.rereads
	}
	if s.DecodeNew > 0 {
		ms += a.decode.ms(in.Decode, in.Decode, rereads, s.DecodeNew, 0) + a.absorb.ms(s.DecodeNew)
	}
	if a.index.launch > 0 {
		ms += a.index.ms(s.PrefillPairs+s.DecodeContext, s.PrefillBefore+s.PrefillNew+s.DecodeContext, 1, 0, 0)
	}
	return ms
}

// experts is the price of expert layers as coefficients of assignments and distinct
// experts, ms.
type experts struct {
	layers                    float64
	times, launch             float64 // times: layers, weighed
	pairCompute, pairMemory   float64
	expertMemory, pairSide    float64
	computeLimit, memoryLimit float64 // fractions of the two terms at full speed
}

// compileExperts makes the coefficients of the expert layers, which are all alike.
func (m *Model) compileExperts() *experts {
	layers := 0
	for i := range m.d.Model.Layers {
		if l := &m.d.Model.Layers[i]; l.FFN.Experts > 0 {
			layers += l.Count
		}
	}
	format := m.d.Weights[arch.Experts]
	law := m.laws[lawKey{work.Experts, format.Name, ""}]
	at := func(pairs, distinct float64) kernel.Terms {
		o := m.d.ExpertLayer(pairs, distinct)
		return law.Terms(&o, &m.gpu)
	}
	pair, expert := at(1, 0), at(0, 1)
	return &experts{
		layers: float64(layers), times: float64(layers) * m.factors[Experts], launch: law.LaunchMs,
		pairCompute: pair.Compute, pairMemory: pair.Memory, pairSide: pair.Side, expertMemory: expert.Memory,
		computeLimit: law.Compute / m.factors[Experts], memoryLimit: law.Memory / m.factors[Experts],
	}
}

// expertMs is the price of the expert layers for the new tokens of a rank.
func (m *Model) expertMs(prefill, decode float64) float64 {
	stages := float64(m.d.Layout.PP)
	pairs, distinct := m.d.ExpertLoad(prefill/stages, decode/stages)
	e := m.experts
	if m.tables != nil {
		o := m.d.ExpertLayer(pairs, distinct)
		o.Shape.Tokens = (prefill + decode) / stages * float64(m.d.Layout.DP)
		if layer, _, ok := m.tables.Op(&o); ok {
			return layer * e.layers
		}
	}
	c, b := e.pairCompute*pairs, float64(e.pairMemory*pairs)+float64(e.expertMemory*distinct)
	ms := e.launch + math.Sqrt(float64(c*c)+float64(b*b)) + float64(e.pairSide*pairs)
	return e.times * max(ms, e.computeLimit*c, e.memoryLimit*b)
}

package main

import (
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

// heads are the sizes of an attention in a table.
type heads struct {
	query, kv, dim float64
	cache          precision.Format
}

// attention reads the sizes of an attention.
func attention(r *table.Row) heads {
	a := heads{query: r.Number("num_heads"), kv: r.Number("num_key_value_heads"), dim: r.Number("head_dim"), cache: precision.BF16}
	if a.kv == 0 {
		a.kv = a.query
	}
	if r.Text("kv_cache_dtype") == "fp8" {
		a.cache = precision.FP8
	}
	return a
}

// family names kernels by the size of a head.
func (a *heads) family() string { return "d" + strconv.Itoa(int(a.dim)) }

// context is n prompts of q new tokens behind x others (spec/latency.md 1.4).
func (a *heads) context(n, q, x float64) work.Op {
	return work.Op{
		Class: work.ContextAttention, Format: a.cache,
		FLOPs: 4 * a.query * a.dim * n * (q*x + q*(q+1)/2),
		Cache: 2 * a.kv * a.dim * a.cache.Bytes * n * (x + q), Moved: 4 * a.query * a.dim * n * q,
	}
}

// decode is n decodes over caches of a length (spec/latency.md 1.5).
func (a *heads) decode(n, length float64) work.Op {
	return work.Op{
		Class: work.DecodeAttention, Format: a.cache,
		FLOPs: 4 * a.query * a.dim * n * length,
		Cache: 2 * a.kv * a.dim * a.cache.Bytes * n * length, Moved: 4 * a.query * a.dim * n,
	}
}

// powerLaw is the distinct experts that tokens touch if the popularity of the i-th is
// i^-alpha, at most 1.
func powerLaw(experts, topK int, exponent string, tokens float64) float64 {
	alpha, err := strconv.ParseFloat(exponent, 64)
	if err != nil {
		panic(err)
	}
	capped, rest := 0, 0.0
	weight := func(i int) float64 { return math.Pow(float64(i+1), -alpha) }
	for i := range experts {
		rest += weight(i)
	}
	for capped < topK && float64(topK-capped)*weight(capped)/rest > 1 {
		rest -= weight(capped)
		capped++
	}
	distinct := float64(capped)
	for i := capped; i < experts; i++ {
		distinct += 1 - math.Pow(1-float64(topK-capped)*weight(i)/rest, tokens)
	}
	return distinct
}

// latentModule is the sizes of the latent attention of DeepSeek-V3 and the products
// that a table of whole modules measures with it.
const (
	latentHidden, queryRank, latentRank     = 7168, 1536, 512
	ropeDim, nopeDim, valueDim              = 64, 128, 128
	latentVector                            = latentRank + ropeDim
	bytesOfVector                           = 2 * latentVector
	keyAndValue, wideHead, headOfLatentVect = nopeDim + valueDim, nopeDim + ropeDim + valueDim, 2*latentRank + ropeDim
)

// projections are the products around latent attention with t tokens.
func projections(heads, t float64) []work.Op {
	f := precision.BF16
	return []work.Op{
		work.GEMMOp(f, t, queryRank+latentVector, latentHidden),
		work.GEMMOp(f, t, heads*(nopeDim+ropeDim), queryRank),
		work.GEMMOp(f, t, latentHidden, heads*valueDim),
	}
}

// plain is whether a module has weights and cache in bf16: the others add kernels
// that quantise.
func plain(r *table.Row) bool {
	return r.Text("gemm_type") == "bfloat16" && r.Text("kv_cache_dtype") == "bfloat16"
}

// latentDecodeRow is the attention of a module of decodes.
func latentDecodeRow(r *table.Row) (measured, bool) {
	n, h := r.Number("batch_size"), r.Number("num_heads")
	length := r.Number("isl") + r.Number("step")
	if !plain(r) || length < 256 {
		return measured{}, false
	}
	return measured{
		op: work.Op{
			Class: work.LatentDecode, Format: precision.BF16,
			FLOPs: 2 * h * headOfLatentVect * n * length, Cache: bytesOfVector * n * length, Moved: 4 * h * latentRank * n,
		},
		ms: r.Number("latency"), beside: append(projections(h, n), work.GEMMOp(precision.BF16, n, h*keyAndValue, latentRank)),
	}, true
}

// latentContextRow is the attention of a module of prompts. Those of a few tokens
// run as decodes.
func latentContextRow(r *table.Row) (measured, bool) {
	n, q, x, h := r.Number("batch_size"), r.Number("isl"), r.Number("step"), r.Number("num_heads")
	if !plain(r) || q < 256 {
		return measured{}, false
	}
	return measured{
		op: work.Op{
			Class: work.LatentContext, Format: precision.BF16,
			FLOPs: 2 * h * wideHead * n * (q*x + q*(q+1)/2), Cache: bytesOfVector * n * (q + x), Moved: 2 * h * wideHead * n * (2*q + x),
		},
		ms: r.Number("latency"), beside: append(projections(h, n*q), work.GEMMOp(precision.BF16, n*(q+x), h*keyAndValue, latentRank)),
	}, true
}

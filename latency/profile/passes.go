package profile

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/internal/table"
)

// Passes prices passes from measured ones (spec/latency.md 4.3, model pass): passes of
// decodes by their number and the tokens they read, passes of prompts by new tokens
// and tokens before them. A mixed pass costs its new tokens as a prompt, and what the
// decodes cost beyond decodes that read nothing to speak of.
//
//	mixed = prefill(all new tokens) + decode(B, KV) − decode(B, least KV)
//
// It implements [latency.Model] in raw ms and [latency.Sourced].
type Passes struct {
	name            string
	prefill, decode *Table
	options         PassOptions
}

// PassOptions are what a table of passes does where nothing was measured.
type PassOptions struct {
	Else   latency.Model // prices passes outside of what was measured; nil: the last time is held
	Strict bool          // such a pass is an error
}

// ReadPasses reads measured passes: columns decode_seqs, new_tokens (of prompts),
// kv_read (tokens that decodes read, or that stand before the new tokens of prompts)
// and time_ms. Rows with both decodes and new prompt tokens are refused.
func ReadPasses(file string, r io.Reader, o PassOptions) (*Passes, error) {
	t, err := table.Read(file, r)
	if err != nil {
		return nil, err
	}
	p := &Passes{name: filepath.Base(file), prefill: NewTable(Linear, Linear), decode: NewTable(Linear, Linear), options: o}
	for row := range t.Rows() {
		decodes, tokens, read, ms := row.Number("decode_seqs"), row.Number("new_tokens"), row.Number("kv_read"), row.Number("time_ms")
		if ms <= 0 {
			row.Fail("time_ms", row.Text("time_ms"), "a time above 0")
		}
		switch {
		case decodes > 0 && tokens == 0:
			p.decode.Add([]float64{decodes, read}, ms)
		case tokens > 0 && decodes == 0:
			p.prefill.Add([]float64{tokens, read}, ms)
		default:
			row.Fail("new_tokens", row.Text("new_tokens"), "decodes or new tokens of prompts, one of them 0")
		}
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	if p.decode.Len() == 0 || p.prefill.Len() == 0 {
		return nil, fmt.Errorf("%s: %d passes of decodes, %d of prompts: want both", file, p.decode.Len(), p.prefill.Len())
	}
	return p, nil
}

// Name prints as "table passes.csv (40 passes of decodes, 12 of prompts)".
func (p *Passes) Name() string {
	return fmt.Sprintf("table %s (%d passes of decodes, %d of prompts)", p.name, p.decode.Len(), p.prefill.Len())
}

// Predicts implements [latency.Predictor].
func (p *Passes) Predicts() string { return "what was measured for " + p.name }

// Needs is Sums.
func (*Passes) Needs() latency.Detail { return latency.Sums }

// Cost implements [latency.Model].
func (p *Passes) Cost(q *latency.Pass) (latency.Duration, error) {
	ms, from := p.look(q)
	if from >= latency.Held {
		if p.options.Strict {
			return latency.Duration{}, fmt.Errorf("%s: pass %+v lies outside of what was measured", p.name, *q)
		}
		if p.options.Else != nil {
			return p.options.Else.Cost(q)
		}
	}
	if q.PrefillNew == 0 {
		return latency.Duration{DecodeMs: ms}, nil
	}
	return latency.Duration{PrefillMs: ms}, nil
}

// Decodes implements [latency.Model].
func (p *Passes) Decodes(first *latency.Pass, dst []float64) error {
	q := *first
	for i := range dst {
		d, err := p.Cost(&q)
		if err != nil {
			return err
		}
		dst[i] = d.DecodeMs
		q.Advance(1)
	}
	return nil
}

// look is the time of a pass by the tables alone.
func (p *Passes) look(q *latency.Pass) (float64, latency.Provenance) {
	b, kv := float64(q.DecodeSeqs), float64(q.DecodeContext)
	switch {
	case q.PrefillNew == 0 && b == 0:
		return 0, latency.Exact
	case q.PrefillNew == 0:
		ms, from, _ := p.decode.At([]float64{b, kv})
		return ms, from
	case b == 0:
		ms, from, _ := p.prefill.At([]float64{float64(q.PrefillNew), float64(q.PrefillBefore)})
		return ms, from
	}
	all, fromPrefill, _ := p.prefill.At([]float64{float64(q.PrefillNew) + b, float64(q.PrefillBefore)})
	with, fromDecode, _ := p.decode.At([]float64{b, kv})
	without, _, _ := p.decode.At([]float64{b, 0}) // held at the least that was measured
	return all + max(0, with-without), max(fromPrefill, fromDecode)
}

// Shares implements [latency.Sourced].
func (p *Passes) Shares(q *latency.Pass) latency.Shares {
	ms, from := p.look(q)
	var s latency.Shares
	if from >= latency.Held && p.options.Else != nil {
		if d, err := p.options.Else.Cost(q); err == nil {
			s[latency.Analytic] = d.PrefillMs + d.DecodeMs
		}
		return s
	}
	s[from] = ms
	return s
}

package work

import (
	"math"

	"github.com/reprise-sim/reprise/latency"
)

// Sums are the sums of a [latency.Pass] as numbers that can be divided: over the
// stages of a pipeline a pass is split evenly.
type Sums struct {
	PrefillSeqs, PrefillNew, PrefillBefore, PrefillPairs float64
	DecodeSeqs, DecodeNew, DecodeContext                 float64
	Sampled                                              float64

	// Padded is the new tokens that a graph computes in place of those of the decodes, 0
	// if there is no graph.
	Padded float64

	// window is the width for which the sums below are exact, 0 if for none.
	window                                    int
	windowPairs, windowPrefill, windowDecodes float64
}

// Of is the sums of one of n equal parts of a pass.
func Of(p *latency.Pass, n int) Sums {
	s := Sums{
		PrefillSeqs: float64(p.PrefillSeqs), PrefillNew: float64(p.PrefillNew),
		PrefillBefore: float64(p.PrefillBefore), PrefillPairs: float64(p.PrefillPairs),
		DecodeSeqs: float64(p.DecodeSeqs), DecodeNew: float64(p.DecodeNew), DecodeContext: float64(p.DecodeContext),
		Sampled: float64(p.Sampled),
		window:  int(p.Window), windowPairs: float64(p.WindowPairs),
		windowPrefill: float64(p.WindowPrefill), windowDecodes: float64(p.WindowDecodes),
	}
	if n > 1 {
		s.divide(float64(n))
	}
	return s
}

// Grow sets what changes from one pass of decodes to the next: the tokens they attend
// to, all and inside the window, of a pass of which s is one of n equal parts.
func (s *Sums) Grow(p *latency.Pass, n int) {
	s.DecodeContext, s.windowDecodes = float64(p.DecodeContext), float64(p.WindowDecodes)
	if n > 1 {
		s.DecodeContext /= float64(n)
		s.windowDecodes /= float64(n)
	}
}

func (s *Sums) divide(n float64) {
	for _, v := range []*float64{
		&s.PrefillSeqs, &s.PrefillNew, &s.PrefillBefore, &s.PrefillPairs, &s.DecodeSeqs, &s.DecodeNew, &s.DecodeContext,
		&s.Sampled, &s.windowPairs, &s.windowPrefill, &s.windowDecodes,
	} {
		*v /= n
	}
}

// Tokens is all new tokens.
func (s *Sums) Tokens() float64 { return s.PrefillNew + s.DecodeNew }

// decodes is the new tokens of decodes as everything but attention sees them.
func (s *Sums) decodes() float64 {
	if s.Padded > 0 {
		return s.Padded
	}
	return s.DecodeNew
}

// Chunk is one prompt chunk that stands for all of a pass: as many new tokens, behind
// so many others that they see as many pairs; fewer new tokens if they see less than
// each other (spec/latency.md 1.4).
func (s *Sums) Chunk() (tokens, before float64) {
	if s.PrefillNew <= 0 {
		return 0, 0
	}
	own := float64(s.PrefillNew * (s.PrefillNew + 1) / 2)
	if s.PrefillPairs >= own {
		return s.PrefillNew, (s.PrefillPairs - own) / s.PrefillNew
	}
	return math.Sqrt(2 * s.PrefillPairs), 0
}

// Reach is what attention sees of the sequences of a pass.
type Reach struct {
	Pairs   float64 // (new token, token it attends to) pairs of prompts
	Prefill float64 // cached tokens that prompts read
	Decode  float64 // cached tokens that decodes read
}

// Within is what a window lets attention see. Unless the pass holds the sums for
// that very window they are those of sequences of equal length.
func (s *Sums) Within(window int) Reach {
	all := Reach{s.PrefillPairs, s.PrefillBefore + s.PrefillNew, s.DecodeContext}
	if window == 0 {
		return all
	}
	if window == s.window {
		return Reach{s.windowPairs, s.windowPrefill, s.windowDecodes}
	}
	w, in := float64(window), Reach{}
	if s.DecodeSeqs > 0 {
		in.Decode = min(s.DecodeContext, float64(w*s.DecodeNew))
	}
	if s.PrefillSeqs > 0 {
		q, x := s.PrefillNew/s.PrefillSeqs, s.PrefillBefore/s.PrefillSeqs
		in.Pairs = min(float64(s.PrefillSeqs*windowPairs(q, x, w)), all.Pairs)
		in.Prefill = float64(s.PrefillSeqs * min(x+q, q+w-1))
	}
	return in
}

// windowPairs is the pairs of q new tokens behind x others inside a window w
// (spec/latency.md 1.7, equation 5).
func windowPairs(q, x, w float64) float64 {
	switch a := w - x; {
	case x >= w:
		return q * w
	case x+q > w:
		return float64(a*x) + float64(a*(a+1)/2) + float64((q-a)*w)
	}
	return float64(q*x) + float64(q*(q+1)/2)
}

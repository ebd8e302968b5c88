package latency

import (
	"fmt"
	"math"
)

// Scale is m with its prices divided by speed-ups and rounded to whole
// nanoseconds (spec/engine.md 3.4): prefill by speedup, decode by speedup ×
// decodeSpeedup. A speed-up of 0 divides nothing.
//
// The raw prices of m may have any last bits; a negative prefill counts as 0, a
// negative decode or a price that is not finite is an error (spec/engine.md 3.2).
func Scale(m Model, speedup, decodeSpeedup float64) (Model, error) {
	s := &scaled{raw: m, prefill: speedup, decode: speedup * decodeSpeedup}
	if !notNegative(s.prefill) || !notNegative(s.decode) || !notNegative(decodeSpeedup) {
		return nil, fmt.Errorf("speed-up %v, decode speed-up %v: want finite numbers, at least 0, and so their product", speedup, decodeSpeedup)
	}
	s.name = fmt.Sprintf("%s (speedup %v)", m.Name(), speedup)
	if decodeSpeedup != 1 {
		s.name = fmt.Sprintf("%s (speedup %v, decode speedup %v)", m.Name(), speedup, decodeSpeedup)
	}
	return s, nil
}

// scaled is a model with speed-ups.
type scaled struct {
	raw             Model
	name            string
	prefill, decode float64 // what prices are divided by, 0: nothing
}

func (s *scaled) Name() string     { return s.name }
func (s *scaled) Needs() Detail    { return s.raw.Needs() }
func (s *scaled) Predicts() string { return Predicts(s.raw) }
func (s *scaled) Window() int64    { return Window(s.raw) }

func (s *scaled) Cost(p *Pass) (Duration, error) {
	d, err := s.raw.Cost(p)
	if err != nil {
		return d, err
	}
	if d.PrefillMs < 0 && !math.IsInf(d.PrefillMs, -1) {
		d.PrefillMs = 0
	}
	if d.PrefillMs, err = wholeNanos(d.PrefillMs, s.prefill); err != nil {
		return d, s.explain("prefill", p, err)
	}
	if d.DecodeMs, err = wholeNanos(d.DecodeMs, s.decode); err != nil {
		return d, s.explain("decode", p, err)
	}
	return d, nil
}

func (s *scaled) Decodes(first *Pass, dst []float64) error {
	if err := s.raw.Decodes(first, dst); err != nil {
		return err
	}
	if i, err := allWholeNanos(dst, s.decode); err != nil {
		p := *first
		p.DecodeContext += int64(i) * p.DecodeNew
		return s.explain("decode", &p, err)
	}
	return nil
}

// explain adds what was priced by whom to err.
func (s *scaled) explain(part string, p *Pass, err error) error {
	return fmt.Errorf("latency model %s, %s of pass %+v: %w", s.name, part, *p, err)
}

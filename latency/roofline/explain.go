package roofline

import (
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/work"
)

// Line is one operator of a pass, or one part of the engine's own time.
type Line struct {
	Name  string `json:"operator"`
	Group Group  `json:"group"`
	// Ms is the time in the pass, all executions together, as weighed.
	Ms float64 `json:"ms"`
	// LimitMs is the time at full speed: no kernel can take less.
	LimitMs float64            `json:"full_speed_ms"`
	FLOPs   float64            `json:"flops"` // in the pass
	Bytes   float64            `json:"bytes"`
	Message float64            `json:"message_bytes"`
	From    latency.Provenance `json:"from"`
	Source  string             `json:"source"` // of the law
}

// Explain is the price of a pass line by line; their sum is that of Cost but for
// the last bits.
func (m *Model) Explain(p *latency.Pass) []Line {
	s, graphed := m.sums(p)
	if s.Tokens() == 0 {
		return nil
	}
	var lines []Line
	whole, measured := Line{Name: "attention", Group: Decode}, false
	if m.tables != nil {
		whole.Ms, whole.From, measured = m.measuredAttention(s)
	}
	for _, o := range m.d.Ops(&s, nil) {
		l := m.line(&o)
		if measured && readsCache(&o) {
			whole.LimitMs, whole.FLOPs, whole.Bytes = whole.LimitMs+l.LimitMs, whole.FLOPs+l.FLOPs, whole.Bytes+l.Bytes
			continue
		}
		lines = append(lines, l)
	}
	if measured {
		lines = append(lines, whole)
	}
	for g, ms := range m.host(p.PrefillSeqs+p.DecodeSeqs, graphed) {
		if ms > 0 {
			lines = append(lines, Line{Name: Group(g).String(), Group: Group(g), Ms: ms * m.factors[g], From: latency.Analytic, Source: m.engine.Source})
		}
	}
	return lines
}

// readsCache is whether an operator is part of what a table of attention measures.
func readsCache(o *work.Op) bool {
	return o.Class == work.ContextAttention || o.Class == work.DecodeAttention || o.Class == work.LatentContext ||
		o.Class == work.LatentDecode || o.Class == work.IndexScore || o.Class == work.LinearState || o.Name == "expand" || o.Name == "absorb"
}

// Shares implements [latency.Sourced].
func (m *Model) Shares(p *latency.Pass) latency.Shares {
	var s latency.Shares
	if m.tables == nil && !m.borrowed {
		if d, err := m.Cost(p); err == nil {
			s[latency.Analytic] = d.PrefillMs + d.DecodeMs
		}
		return s
	}
	for _, l := range m.Explain(p) {
		s[l.From] += l.Ms
	}
	return s
}

// sums are the sums of a pass as operators see them: decodes in a graph are padded.
func (m *Model) sums(p *latency.Pass) (work.Sums, bool) {
	s := work.Of(p, m.d.Layout.PP)
	graphed := m.engine.graphed(p.PrefillNew, p.DecodeNew)
	if graphed {
		s.Padded = float64(m.engine.padded(p.DecodeNew)) / float64(m.d.Layout.PP)
	}
	return s, graphed
}

// line is an operator priced.
func (m *Model) line(o *work.Op) Line {
	times := float64(o.Times)
	l := Line{Name: o.Name, FLOPs: times * o.FLOPs, Bytes: times * o.Bytes(), Message: times * o.Message}
	var parts Parts
	m.add(o, &parts)
	l.Ms, l.LimitMs = m.price(o), m.limit(o)
	for g := range parts {
		if parts[g] > parts[l.Group] {
			l.Group = Group(g)
		}
	}
	if m.tables != nil {
		if _, from, ok := m.tables.Op(o); ok {
			l.From, l.Source = from, "measured"
			return l
		}
	}
	var borrowed bool
	if o.Class.Communicates() {
		law := m.message(o)
		borrowed, l.Source = law.Borrowed, law.Source
	} else {
		law := m.law(o)
		borrowed, l.Source = law.Borrowed, law.Source
	}
	if l.From = latency.Analytic; borrowed {
		l.From = latency.Borrowed
	}
	return l
}

// Parts is the price of a pass by group, before any factor.
func (m *Model) Parts(p *latency.Pass) Parts {
	s, graphed := m.sums(p)
	var parts Parts
	if s.Tokens() == 0 {
		return parts
	}
	for _, o := range m.d.Ops(&s, nil) {
		m.add(&o, &parts)
	}
	for g, ms := range m.host(p.PrefillSeqs+p.DecodeSeqs, graphed) {
		parts[g] += ms
	}
	return parts
}

package otlp

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Span is a span as far as the conventions for GenAI are concerned.
type Span struct {
	Trace, ID, Parent string
	StartNs, EndNs    uint64 // Unix time
	Failed            bool
	attributes        pcommon.Map
}

// spanOf reads a span. Content may also stand in an event of it
// (gen_ai.client.inference.operation.details).
func spanOf(s ptrace.Span) Span {
	all := s.Attributes()
	for _, event := range s.Events().All() {
		for name, v := range event.Attributes().All() {
			if _, there := all.Get(name); !there {
				v.CopyTo(all.PutEmpty(name))
			}
		}
	}
	return Span{
		Trace: s.TraceID().String(), ID: s.SpanID().String(), Parent: s.ParentSpanID().String(),
		StartNs: uint64(s.StartTimestamp()), EndNs: max(uint64(s.EndTimestamp()), uint64(s.StartTimestamp())),
		Failed: s.Status().Code() == ptrace.StatusCodeError, attributes: all,
	}
}

// text is the first of several attributes that the span has, "" if it has none. What
// is no text is given as JSON.
func (s *Span) text(names ...string) string {
	for _, name := range names {
		if v, ok := s.attributes.Get(name); ok {
			return v.AsString()
		}
	}
	return ""
}

// number is the first of several attributes that is a number, NaN if none is.
func (s *Span) number(names ...string) float64 {
	for _, name := range names {
		v, ok := s.attributes.Get(name)
		switch {
		case ok && v.Type() == pcommon.ValueTypeInt:
			return float64(v.Int())
		case ok && v.Type() == pcommon.ValueTypeDouble:
			return v.Double()
		}
	}
	return math.NaN()
}

// operation is the operation that the span is of, "" if it is not about GenAI.
func (s *Span) operation() string { return s.text("gen_ai.operation.name") }

// isCall is whether the span is an inference that has generated text.
func (s *Span) isCall() bool {
	switch s.operation() {
	case "chat", "text_completion", "generate_content":
		return true
	}
	return false
}

func (s *Span) isTool() bool { return s.operation() == "execute_tool" }

func (s *Span) isAgent() bool { return s.operation() == "invoke_agent" }

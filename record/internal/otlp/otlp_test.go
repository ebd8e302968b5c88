package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/record/internal/graph/graphtest"
)

// story is spans, as the stories tell them.
type story struct{ traces ptrace.Traces }

// spans of a story: each line is
//
//	ID [in PARENT] START-END OPERATION {attributes}
//
// in ms, all in one trace.
func tell(s *story, t *testing.T, td *datadriven.TestData) string {
	s.traces = ptrace.NewTraces()
	list := s.traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for line := range strings.SplitSeq(td.Input, "\n") {
		head, attributes, _ := strings.Cut(line, "{")
		words := strings.Fields(head)
		span := list.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(spanID(words[0]))
		if words[1] == "in" {
			span.SetParentSpanID(spanID(words[2]))
			words = words[2:]
		}
		var from, to int64
		if _, err := fmt.Sscanf(words[1], "%d-%d", &from, &to); err != nil {
			td.Fatalf(t, "%s: %v", line, err)
		}
		span.SetStartTimestamp(pcommon.Timestamp(1e18 + from*1e6))
		span.SetEndTimestamp(pcommon.Timestamp(1e18 + to*1e6))
		all := map[string]any{}
		if err := json.Unmarshal([]byte("{"+attributes), &all); attributes != "" && err != nil {
			td.Fatalf(t, "%s: %v", line, err)
		}
		if err := span.Attributes().FromRaw(all); err != nil {
			td.Fatalf(t, "%s: %v", line, err)
		}
		for name, v := range all {
			if n, whole := v.(float64); whole && n == float64(int64(n)) {
				span.Attributes().PutInt(name, int64(n))
			}
		}
		span.Attributes().PutStr("gen_ai.operation.name", words[2])
	}
	return ""
}

func spanID(name string) (id pcommon.SpanID) {
	copy(id[:], name)
	return id
}

// tasks tells the tasks that the spans become, and what became of each call.
func tasks(s *story, t *testing.T, td *datadriven.TestData) string {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(s.traces)
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	spans, err := Read(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	return graphtest.Tell(graph.Build(Journal(spans, td.HasArg("redacted"))), td.HasArg("messages"))
}

func TestSpans(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", scenario.Language[*story]{"spans": tell, "tasks": tasks}, func() *story { return &story{} })
}

// sample is two spans in all encodings.
func sample(t testing.TB) (inJSON, inProto []byte) {
	traces := ptrace.NewTraces()
	list := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range 2 {
		span := list.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
	}
	inJSON, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	inProto, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	return inJSON, inProto
}

func TestEncodingsAreRecognised(t *testing.T) {
	inJSON, inProto := sample(t)
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(inProto))), inProto...)
	for _, c := range []struct {
		what string
		text []byte
		want int
	}{
		{"nothing", nil, 0},
		{"JSON", inJSON, 2},
		{"JSON behind blank lines", append([]byte("\n \n"), inJSON...), 2},
		{"lines of JSON", append(append(bytes.Clone(inJSON), '\n'), inJSON...), 4},
		{"protobuf", inProto, 2},
		{"protobuf with lengths", append(bytes.Clone(framed), framed...), 4},
	} {
		spans, err := Read(bytes.NewReader(c.text))
		if err != nil || len(spans) != c.want {
			t.Errorf("%s: %d spans and %v, want %d", c.what, len(spans), err, c.want)
		}
	}
}

func TestWhatIsNoSpansIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"resourceSpans":[]} {"resourceSpans":`: "JSON value 2",
		`{"resourceSpans":7}`:                    "JSON value 1",
		"hello":                                  "neither OTLP/JSON nor protobuf",
		"\x00\x00\x00\x09\x0a":                   "message 1 is cut off",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whatever the spans say, they are a journal that tasks can be made of.
func FuzzRead(f *testing.F) {
	inJSON, inProto := sample(f)
	f.Add(inJSON)
	f.Add(inProto)
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"0000000000000001","parentSpanId":"0000000000000001","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		spans, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		r := graph.Build(Journal(spans, false))
		for _, task := range r.Tasks {
			if task.Calls() == 0 {
				t.Fatal("a task without a call")
			}
		}
	})
}

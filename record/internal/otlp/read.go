package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Read reads spans in one of the encodings of the OpenTelemetry protocol, recognised
// by content: JSON, one TracesData or several behind each other (as lines, say);
// protobuf, one TracesData; or, as the collector's file exporter writes them, several
// with the length of each in front (4 bytes, big-endian).
func Read(r io.Reader) ([]Span, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var all spans
	switch {
	case looksLikeJSON(text):
		err = all.readJSON(text)
	case len(text) > 0 && text[0] == 0: // no message begins with field 0
		err = all.readFramed(text)
	default:
		err = all.readProto(text)
	}
	return all, err
}

// looksLikeJSON is whether the first value, or what there is of it, is an object. A
// message begins with a line feed, its first field, and may go on with a brace, its
// length; then it is no JSON.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(text) > 0 && text[0] == '{' {
		return true
	}
	var first map[string]json.RawMessage
	return json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil
}

// spans collects the spans of several messages.
type spans []Span

func (s *spans) readJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	for n := 1; ; n++ {
		var one json.RawMessage
		if err := decoder.Decode(&one); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("JSON value %d, behind byte %d: %w", n, decoder.InputOffset(), err)
		}
		t, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(one)
		if err != nil {
			return fmt.Errorf("JSON value %d: %w, expected {\"resourceSpans\":[…]}", n, err)
		}
		s.add(t)
	}
}

func (s *spans) readFramed(text []byte) error {
	for n := 1; len(text) > 0; n++ {
		if len(text) < 4 || uint64(binary.BigEndian.Uint32(text)) > uint64(len(text)-4) {
			return fmt.Errorf("message %d is cut off", n)
		}
		end := 4 + int(binary.BigEndian.Uint32(text))
		if err := s.readProto(text[4:end]); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		text = text[end:]
	}
	return nil
}

func (s *spans) readProto(text []byte) error {
	t, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		return fmt.Errorf("neither OTLP/JSON nor protobuf: %w", err)
	}
	s.add(t)
	return nil
}

func (s *spans) add(t ptrace.Traces) {
	for _, resource := range t.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				*s = append(*s, spanOf(span))
			}
		}
	}
}

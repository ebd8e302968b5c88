package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/otlp"
)

// SpansFormat is what a trace says that it was made from, if that was spans.
const SpansFormat = "otlp"

// FromSpans makes the trace at path, and the file of its calls beside it, of files of
// OpenTelemetry spans about GenAI (OTLP/JSON or protobuf; spec/live.md D.4), "-" being
// standard input. Spans of one trace may stand in several files. With redact no text is
// kept. It fails, naming the file, if a file cannot be read or none has an inference.
func FromSpans(files []string, path string, redact bool) (*Result, error) {
	var all []otlp.Span
	sum := sha256.New()
	for _, name := range files {
		spans, err := readSpans(name, sum)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, spans...)
	}
	j := otlp.Journal(all, redact)
	if !slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Call != nil }) {
		return nil, fmt.Errorf("%s: %d spans, expected one of an inference (gen_ai.operation.name: chat, text_completion, generate_content)", strings.Join(files, ", "), len(all))
	}
	j.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	result, err := finish(j, "", path, SpansFormat)
	if err != nil {
		return nil, err
	}
	if others := j.Entries[len(j.Entries)-1].End.Unrecorded; others > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("%d spans are about something else", others))
	}
	return result, nil
}

// readSpans reads a file of spans, whose bytes go into sum.
func readSpans(name string, sum io.Writer) ([]otlp.Span, error) {
	if name == "-" {
		return otlp.Read(io.TeeReader(os.Stdin, sum))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return otlp.Read(io.TeeReader(f, sum))
}

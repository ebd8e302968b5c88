package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// rowTrace is a checked trace of rows.
type rowTrace[R any] struct {
	format RowFormat[R]
	inputs []*Input
	header Header
	report Report
	index  *index // nil if each file can be read from its start
}

// OpenRows checks all rows of the inputs and makes a trace of them. Bad rows end
// in a [*Refusal], an input without any row in [ErrNoRequests].
//
// A file whose tasks stand in order, each in one piece, is read from its start in
// every pass and nothing is kept of it. Otherwise the offset of every row is kept,
// and a compressed file is unpacked into a temporary one.
func OpenRows[R any](inputs []*Input, format RowFormat[R]) (Trace, error) {
	t := &rowTrace[R]{format: format, inputs: inputs}
	for i, in := range inputs {
		in.number = i
		if err := t.begin(in); err != nil {
			return nil, err
		}
	}
	s, err := t.survey()
	if err != nil {
		return nil, err
	}
	built := s.tally
	if s.disordered() {
		if t.index, err = t.arrange(); err != nil {
			return nil, err
		}
		if built, err = t.assemble(s.ids.seen != nil); err != nil {
			return nil, err
		}
	}
	return t, t.describe(s, built)
}

// begin reads the header of a file.
func (t *rowTrace[R]) begin(in *Input) error {
	r, err := in.file.Read(nil)
	if err != nil {
		return err
	}
	defer r.Close()
	in.first = 0
	lines := linefile.NewLines(r)
	line, err := lines.Next()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w", Place{in, lines.Number()}, err)
	}
	header, err := t.format.Begin(line.Text, Place{in, line.Number})
	if header {
		in.first = line.Offset + 1
	}
	return err
}

// describe fills in header and report.
func (t *rowTrace[R]) describe(s *survey[R], built *tally[R]) error {
	t.header = Header{Format: t.format.Name(), Source: Origin{Format: t.format.Name(), Digest: t.digest()}}
	t.report = built.report
	slices.SortFunc(s.leftOut, func(a, b LeftOut) int { return strings.Compare(a.Reason, b.Reason) })
	t.report.Rows, t.report.LeftOut, t.report.OutOfOrder = s.rows, s.leftOut, s.outOfOrder
	for _, in := range t.inputs {
		t.report.Files = append(t.report.Files, File{Path: in.Path(), Digest: in.digest, Bytes: in.file.Size()})
	}
	return built.reader.Describe(&t.header, &t.report)
}

// digest is the digest of the trace: of its file or, if there are several, of their
// digests, one a line.
func (t *rowTrace[R]) digest() string {
	if len(t.inputs) == 1 {
		return t.inputs[0].digest
	}
	sum := sha256.New()
	for _, in := range t.inputs {
		fmt.Fprintln(sum, in.digest)
	}
	return digestText(sum)
}

// digestText is how digests are written.
func digestText(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// names is how messages call the inputs together.
func (t *rowTrace[R]) names() string {
	names := make([]string, len(t.inputs))
	for i, in := range t.inputs {
		names[i] = in.Name()
	}
	return strings.Join(names, ", ")
}

func (t *rowTrace[R]) Header() Header  { return t.header }
func (t *rowTrace[R]) Report() *Report { return &t.report }

// tally counts the tasks that a reader builds.
type tally[R any] struct {
	reader RowReader[R]
	report Report
	ids    idSet
	faults Refusal
}

func newTally[R any](reader RowReader[R]) *tally[R] {
	return &tally[R]{reader: reader, report: Report{Independent: true}}
}

// add counts the task that was built of the rows of g. It is false if err says that
// they are no task, or if an id is not unique.
func (y *tally[R]) add(t *Task, err error, g *group[R]) bool {
	if err == nil {
		err = y.ids.unique(&g.label, g.places, t)
	}
	if err != nil {
		y.faults.add(asFault(err, g.places[0].Place))
		return false
	}
	y.count(t)
	return true
}

// count adds a task to the report.
func (y *tally[R]) count(t *Task) {
	r := &y.report
	r.Tasks++
	if math.IsNaN(t.ReleaseMs) {
		r.Untimed++
	} else {
		if r.Tasks-r.Untimed == 1 {
			r.FirstMs, r.LastMs = t.ReleaseMs, t.ReleaseMs
		}
		r.FirstMs = min(r.FirstMs, t.ReleaseMs)
		r.LastMs = max(r.LastMs, t.ReleaseMs)
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == LLM {
			r.Calls++
			r.InputTokens += int64(n.InputTokens)
			r.OutputTokens += int64(n.OutputTokens)
		}
	}
	if len(t.Nodes) != 1 || t.Nodes[0].Kind != LLM {
		r.Independent = false
	}
}

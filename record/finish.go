package record

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// Format is what a trace says that it was made from.
const Format = "record"

// Result says what has become of a journal.
type Result struct {
	Tasks, Calls, Tools int // in the trace
	WithIDs             int // calls whose prompt and output have token ids
	Experts             int // calls with expert ids
	LeftOut             map[string]int
	Incomplete          []string // what is missing, one line each
	Notes               []string
}

// Finish makes the trace at path of a journal, also of one whose recorder was killed:
// the trace itself, its calls as they were seen at path + [CallsSuffix], and expert
// ids, if there are any, beside it (DESIGN.md 4). The journal stays.
func Finish(journalPath, path string) (*Result, error) {
	j, err := journal.Open(journalPath)
	if err != nil {
		return nil, err
	}
	return finish(j, journal.BlobPath(journalPath), path, Format)
}

// finish makes the trace of a journal and writes what belongs to it.
func finish(j *journal.Journal, blobPath, path, format string) (*Result, error) {
	g := graph.Build(j)
	result := summarize(g)
	routed, err := addExperts(g, blobPath, path)
	if err != nil {
		return nil, err
	}
	result.Experts = routed.calls
	result.Notes = append(result.Notes, routed.notes...)
	err = writeTrace(path, g.Tasks, trace.Header{
		Model: g.Model, Tokenizer: j.Start.Tokenizer, Template: j.Start.Template,
		Source:     trace.Origin{Format: format, Digest: j.Digest},
		Incomplete: strings.Join(result.Incomplete, "; "),
	})
	if err != nil {
		return nil, errors.Join(err, routed.abort())
	}
	return result, errors.Join(routed.close(), writeCalls(path+CallsSuffix, &j.Start, g, result))
}

// Discard removes a journal whose trace has been made.
func Discard(journalPath string) error {
	return errors.Join(os.Remove(journalPath), os.Remove(journal.BlobPath(journalPath)))
}

// writeTrace writes tasks in the native format, for nobody else to read.
func writeTrace(path string, tasks []*trace.Task, h trace.Header) error {
	w, err := trace.Create(path, h)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := w.Write(t); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

// summarize counts what a recording holds.
func summarize(g *graph.Recording) *Result {
	r := &Result{Tasks: len(g.Tasks), LeftOut: map[string]int{}, Incomplete: g.Incomplete(), Notes: slices.Clone(g.Notes)}
	for _, t := range g.Tasks {
		for i := range t.Nodes {
			switch n := &t.Nodes[i]; n.Kind {
			case trace.LLM:
				r.Calls++
				if n.Input != nil && n.Output != nil {
					r.WithIDs++
				}
			case trace.Tool:
				r.Tools++
			}
		}
	}
	several := 0
	for i := range g.Calls {
		c := &g.Calls[i]
		if c.LeftOut != "" {
			r.LeftOut[c.LeftOut]++
		} else if c.Choices > 1 {
			several++
		}
	}
	if several > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d calls asked for several answers: the trace has the first of each", several))
	}
	return r
}

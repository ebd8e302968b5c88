package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/record/internal/journal"
)

// CallsSuffix is what the name of the file of calls ends in, behind the whole name of
// the trace.
const CallsSuffix = ".calls.jsonl"

// callsHead is the first line of a file of calls.
type callsHead struct {
	Schema     string         `json:"schema"`
	Version    int            `json:"version"`
	Upstream   string         `json:"upstream,omitempty"`
	Started    string         `json:"started,omitempty"`
	Redacted   bool           `json:"redacted"`
	Complete   bool           `json:"complete"`
	Incomplete []string       `json:"incomplete,omitempty"`
	LeftOut    map[string]int `json:"left_out,omitempty"`
	Unrecorded int            `json:"unrecorded,omitempty"` // requests to other endpoints
	Notes      []string       `json:"notes,omitempty"`
}

// CallRow is a line of a file of calls: a call as it was seen, also one that is not in
// the trace. Times are ms from the start of the recording; counts are -1 if nobody said
// them.
type CallRow struct {
	Seq      int64           `json:"seq"`
	Node     string          `json:"node,omitempty"`     // id in the trace
	LeftOut  string          `json:"left_out,omitempty"` // why it is not in the trace
	API      string          `json:"api"`
	Model    string          `json:"model,omitempty"`
	Stream   bool            `json:"stream,omitempty"`
	StartMs  float64         `json:"start_ms"`
	FirstMs  *float64        `json:"first_ms,omitempty"`
	EndMs    float64         `json:"end_ms"`
	Status   int             `json:"status,omitempty"`
	Outcome  string          `json:"outcome"` // done, cancelled, failed
	Reason   string          `json:"reason,omitempty"`
	Error    string          `json:"error,omitempty"`
	Response string          `json:"response,omitempty"`
	Session  string          `json:"session_from,omitempty"` // header or field that named the session
	Evidence string          `json:"evidence,omitempty"`     // for what the call waited for
	Input    string          `json:"input_ids,omitempty"`    // where the ids are from
	Output   string          `json:"output_ids,omitempty"`
	Prompt   int32           `json:"prompt_tokens"` // as the server counted
	Answer   int32           `json:"output_tokens"`
	Cached   int32           `json:"cached_tokens"`
	ChunkMs  []float64       `json:"chunk_ms,omitempty"`
	ChunkIDs []int32         `json:"chunk_ids,omitempty"`
	Metrics  json.RawMessage `json:"metrics,omitempty"`
}

// writeCalls writes the calls of a recording as they were seen.
func writeCalls(path string, start *journal.Start, g *graph.Recording, r *Result) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".calls.*")
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err = e.Encode(callsHead{
		Schema: "reprise.calls", Version: 1, Upstream: start.Upstream, Started: start.Started, Redacted: start.Redacted,
		Complete: len(r.Incomplete) == 0, Incomplete: r.Incomplete, LeftOut: r.LeftOut, Unrecorded: g.Unrecorded, Notes: r.Notes,
	})
	for i := range g.Calls {
		if err == nil {
			err = e.Encode(rowOf(&g.Calls[i]))
		}
	}
	if err = errors.Join(err, b.Flush(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// rowOf is a call as a file of calls has it.
func rowOf(c *graph.Call) *CallRow {
	return &CallRow{
		Seq: c.Seq, Node: c.Node, LeftOut: c.LeftOut, API: c.API, Model: c.Model, Stream: c.Stream,
		StartMs: c.StartMs, FirstMs: c.FirstMs, EndMs: c.EndMs, Status: c.Status, Outcome: c.Outcome, Reason: c.Reason, Error: c.Error,
		Response: c.Response, Session: c.Who.From, Evidence: c.Evidence, Input: c.InputFrom, Output: c.OutputFrom,
		Prompt: c.Call.Input, Answer: c.Call.Output, Cached: c.Cached, ChunkMs: c.ChunkMs, ChunkIDs: c.ChunkIDs, Metrics: c.Metrics,
	}
}

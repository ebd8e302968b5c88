package live

import (
	"encoding/json"
	"strconv"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
)

// callLine is all that is known of a call: a line of calls.jsonl. Times are ms of the
// run.
type callLine struct {
	Request     string             `json:"request_id"`
	Task        string             `json:"task_id"`
	Status      string             `json:"status"`
	Reason      string             `json:"reason,omitempty"`
	Detail      string             `json:"detail,omitempty"`
	Recorded    int32              `json:"recorded_attempt"` // which attempt of the recording it is
	Attempts    int32              `json:"attempts"`
	Failures    []attempt          `json:"failures,omitempty"` // attempts before the last one
	Target      string             `json:"target"`
	DueMs       number             `json:"due_ms"`
	SendMs      number             `json:"send_ms"` // of the last attempt, as all below
	WrittenMs   number             `json:"written_ms"`
	FirstByteMs number             `json:"first_byte_ms"`
	LastByteMs  number             `json:"last_byte_ms"`
	Reused      bool               `json:"connection_reused"`
	Chunks      chunks             `json:"chunks"` // [ms, ids] each
	IDs         []int32            `json:"ids"`
	Finish      string             `json:"finish_reason"`
	Usage       *wire.Usage        `json:"usage"`
	Server      *wire.ServerTimes  `json:"metrics"`
	Differences []force.Difference `json:"differences,omitempty"`
}

// chunks are pieces of a stream: when they came and how many ids they held. A piece of
// text without ids holds 0.
type chunks []wire.Chunk

// MarshalJSON writes pairs.
func (c chunks) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, piece := range c {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendNumber(append(text, '['), piece.AtMs), ',')
		text = append(strconv.AppendInt(text, int64(piece.N), 10), ']')
	}
	return append(text, ']'), nil
}

// appendNumber appends the shortest text that reads back to the same float64.
func appendNumber(text []byte, v float64) []byte { return strconv.AppendFloat(text, v, 'f', -1, 64) }

// appendLine appends an item as a line of JSON.
func appendLine[T any](text []byte, item *T) []byte {
	line, err := json.Marshal(item)
	if err != nil {
		panic(err) // numbers, texts and lists of them
	}
	return append(append(text, line...), '\n')
}

// lineOf is the line of a call that has ended.
func lineOf(f *flight, a *wire.Answer, status metrics.Status, reason string, target string) callLine {
	line := callLine{
		Request: f.n.ID, Task: f.Task.ID, Status: status.String(), Reason: reason, Attempts: f.attempts, Failures: f.failures, Target: target,
		DueMs: number(f.ReadyMs), SendMs: number(a.SendMs), WrittenMs: number(a.WrittenMs), FirstByteMs: number(a.FirstByteMs), LastByteMs: number(a.LastByteMs),
		Reused: a.Reused, Chunks: a.Chunks, IDs: a.IDs, Finish: a.Finish, Usage: a.Usage, Server: a.Times,
	}
	if line.IDs == nil {
		line.IDs = []int32{}
	}
	if f.n.Details != nil {
		line.Recorded = f.n.Details.Attempt
	}
	if a.Failure != nil {
		line.Detail = a.Failure.Detail
	}
	return line
}

package trace

import (
	"encoding/json"

	"github.com/reprise-sim/reprise/token"
)

// Kind says what a node is.
type Kind uint8

const (
	LLM   Kind = iota // a call to a model
	Tool              // a tool call
	Think             // a human or idle wait
)

var kindNames = [...]string{"llm", "tool", "think"}

func (k Kind) String() string { return kindNames[k] }

// Trigger says which moment of an edge's source counts.
type Trigger uint8

const (
	Completion Trigger = iota // the source has ended
	Dispatch                  // the source has been sent
	Output                    // the source has written its output up to a position
)

var triggerNames = [...]string{"completion", "dispatch", "output"}

func (t Trigger) String() string { return triggerNames[t] }

// Edge is something a node waits for.
type Edge struct {
	From     int32   // index of the source in Task.Nodes
	Trigger  Trigger //
	AtOutput int32   // Output trigger: number of output tokens that must be there, from 1
	DelayMs  float64 // between the trigger and the earliest start
	Inferred bool    // not recorded but concluded by a reader
}

// Node is one call, tool run or wait.
type Node struct {
	ID      string // unique in the trace
	Session string // conversation the node belongs to; "" if none
	Name    string // of a tool
	Kind    Kind
	// Turn counts the calls of a session inside the trace, from 0.
	Turn int32
	// Line is the 1-based line of the input that the node was read from.
	Line int32

	After []Edge // all must have fired
	// NotBeforeMs is the earliest start, in ms from the task's release.
	NotBeforeMs float64
	// DurationMs is how long a tool ran or a wait lasted.
	DurationMs float64

	// Input and Output say which tokens went in and came out, as far as they are
	// known; nil means that only the lengths are. Input holds the whole prompt.
	Input, Output *token.Seq
	// InputTokens and OutputTokens are the lengths. A call asks for OutputTokens.
	InputTokens, OutputTokens int32
	// Priority of the call: smaller is more urgent.
	Priority int32

	// Extends is the index in Task.Nodes of the node whose input and output the
	// input extends, -1 if none, and Keep how many of those tokens it keeps.
	Extends, Keep int32

	// Details are the rarer fields, nil if there are none.
	Details *Details
}

// Details are fields of a node that only some traces have and only some commands
// use.
type Details struct {
	Model   string
	Attempt int32  // 0 for the first attempt of a call
	Class   string // traffic class
	// StrictPriority orders waiting calls before anything else does: larger goes
	// first (spec/replay.md 5.4.4).
	StrictPriority uint32
	Finish         string // why the output ended: "stop", "length", …
	Accepted       []int32
	Experts        *Experts
	Sampling       json.RawMessage
	Messages       json.RawMessage
	Args           json.RawMessage
	Result         json.RawMessage
	Recorded       *Recorded
}

// Experts says where the expert ids of a node's tokens are kept.
type Experts struct {
	Key   string     `json:"key"`
	From  int32      `json:"from"`
	Holes [][2]int32 `json:"holes,omitempty"` // [first, last+1) positions without ids
}

// Recorded is when the recording saw the node happen, in ms from the trace's
// origin. Absent moments are NaN.
type Recorded struct {
	StartMs, FirstTokenMs, EndMs float64
	// IDs says where the token ids of a call came from: "server" if they came with its
	// answer; one word for input and output, or two with a + between; "" if nobody said.
	IDs string
}

// Task is what arrives as one and holds one slot.
type Task struct {
	ID        string
	ReleaseMs float64 // recorded arrival, in ms from the trace's origin; NaN if untimed
	Nodes     []Node  // a node comes after all nodes it waits for
}

// Calls is the number of nodes that are calls to a model.
func (t *Task) Calls() int {
	n := 0
	for i := range t.Nodes {
		if t.Nodes[i].Kind == LLM {
			n++
		}
	}
	return n
}

// Depth is how much a trace knows about the content of prompts. Prompts of which
// nothing but the length is known do not count, unless there are no others.
type Depth uint8

const (
	Lengths Depth = iota // token counts only
	Blocks               // ids of blocks: what is shared is known
	Tokens               // token ids
)

func (d Depth) String() string { return [...]string{"lengths", "blocks", "tokens"}[d] }

// Scopes of block ids: equal ids are equal content everywhere, inside one file, or
// inside one session.
const (
	IDsGlobal  = "global"
	IDsFile    = "file"
	IDsSession = "session"
)

// Blocks of a prompt that have ids: all that it starts, or only those it fills; the
// rest of the prompt is then shared with nobody.
const (
	CoverStarted = "started"
	CoverFull    = "full"
)

// Header describes a trace as a whole.
type Header struct {
	Format    string // name of the reader
	Depth     Depth
	BlockSize int    // tokens per block id; 0 without block ids
	IDs       string // scope of block ids: one of the IDs constants
	IDsCover  string // which blocks have ids: one of the Cover constants
	Model     string
	Tokenizer string
	Template  string
	Source    Origin
	// Incomplete says what is missing in a recording, "" if nothing is known to be.
	Incomplete string
}

// Origin says where a native trace came from.
type Origin struct {
	Format string `json:"format,omitempty"`
	Digest string `json:"digest,omitempty"` // "sha256:…"
}

// Source streams the tasks of a trace in order of (ReleaseMs, order of the files,
// order in the file). A pass that is not read to its end has to be closed.
type Source interface {
	// Next returns the next task, io.EOF after the last one. The caller owns the
	// task; it must not modify token sequences.
	Next() (*Task, error)
	Close() error
}

// Trace is a checked input.
type Trace interface {
	Header() Header
	Report() *Report
	// Tasks starts a fresh pass over all tasks.
	Tasks() (Source, error)
}

// Report says what checking found. All rows were good or were left out by a rule
// that is counted here.
type Report struct {
	Files   []File
	Rows    int       // rows read
	LeftOut []LeftOut // rows not used, by reason; Rows = used + left out
	// Tasks, Calls, InputTokens and OutputTokens count what Tasks will return.
	// Independent means that every task is a single call.
	Tasks, Calls              int
	InputTokens, OutputTokens int64
	Independent               bool
	// FirstMs and LastMs are the smallest and the largest ReleaseMs, 0 if no task
	// has one. Untimed counts the tasks without: they come first, in the order of
	// the file, and a workload that needs times must refuse them.
	FirstMs, LastMs float64
	Untimed         int
	// OutOfOrder counts rows whose time is before that of the row above; a row of
	// the same task as the row above is not counted.
	OutOfOrder int
	Notes      []string // remarks a user should see, one line each
}

// File is one input file. Digest is "sha256:…" over its bytes as stored.
type File struct {
	Path, Digest string
	Bytes        int64
}

// LeftOut counts rows that were not used for one reason.
type LeftOut struct {
	Reason string
	Rows   int
}

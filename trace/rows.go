package trace

import (
	"fmt"
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// RowFormat is what a format of one row a line has to say about itself. [OpenRows]
// makes a trace of it: it opens files, checks all rows, puts the rows of a task
// together wherever they stand, brings tasks in order and streams them. R is what
// the format keeps of a row.
type RowFormat[R any] interface {
	// Name is the format's name.
	Name() string
	// Begin is told the first line of each file before any row is read. It reports
	// whether that line is a header.
	Begin(first []byte, at Place) (header bool, err error)
	// NewReader starts a pass over rows.
	NewReader() RowReader[R]
}

// RowReader reads the rows of one pass. It is used by one goroutine.
type RowReader[R any] interface {
	// Parse reads a row into *row, which is zero before. What it keeps of line is
	// copied to the slab. It returns nil, a *[Fault], or [LeaveOut].
	Parse(line []byte, at Place, row *R, slab *Slab) error
	// Label says which task a row belongs to and when it happened.
	Label(row *R) Label
	// Build makes the task of the rows, which are in the order of the files, and
	// returns a *[Fault] if they are no task.
	Build(rows []R, t *Task, slab *Slab) error
	// Describe fills in the depth of the trace, how its ids are to be understood,
	// and notes. It is called once, on the reader that has built all tasks.
	Describe(h *Header, r *Report) error
}

// Label is what a row says about its place in the trace.
type Label struct {
	Task   string  // id of its task; "" for a task of one row that is named after its line
	Named  bool    // the row's node is not named after its line
	TimeMs float64 // when it happened; NaN if it does not say
}

// Untimed is the time of what has none.
func Untimed() float64 { return math.NaN() }

// Place is where a row stands.
type Place struct {
	File *Input
	Line int32 // from 1
}

// Fault is a fault of the row at p.
func (p Place) Fault(field, value, want string) *Fault {
	return &Fault{File: p.File.Name(), Line: p.Line, Field: field, Value: value, Want: want}
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File.Name(), p.Line) }

// AppendNodeID appends the id of the node of a row that has no name:
// "line:<line from 0>" (spec/replay.md 3.2, V-33). In the second file of a trace
// and those after it the number of the file stands in front: "file2:line:0".
func (p Place) AppendNodeID(dst []byte) []byte {
	return strconv.AppendInt(append(p.appendFile(dst), "line:"...), int64(p.Line)-1, 10)
}

// AppendTaskID appends the id of the task of a row that belongs to no other:
// "request_<line from 1>", with the number of the file as in AppendNodeID.
func (p Place) AppendTaskID(dst []byte) []byte {
	return strconv.AppendInt(append(p.appendFile(dst), "request_"...), int64(p.Line), 10)
}

func (p Place) appendFile(dst []byte) []byte {
	if p.File.number == 0 {
		return dst
	}
	dst = strconv.AppendInt(append(dst, "file"...), int64(p.File.number)+1, 10)
	return append(dst, ':')
}

// MaxMs is the largest time or pause of a trace, in ms.
const MaxMs = jsonrow.MaxMs

// released is a task's release as a number that can be compared: untimed tasks come
// first.
func released(ms float64) float64 {
	if math.IsNaN(ms) {
		return math.Inf(-1)
	}
	return ms
}

// PrivatePrompt is n tokens of the prompt of node id that are shared with nobody.
func PrivatePrompt(id string, n int) *token.Seq { return token.Stream(token.Identity(id+"/input"), n) }

// Generated is the output of node id if nothing but its length is known: token j is
// the j-th token that the node has generated.
func Generated(id string, n int) *token.Seq { return token.Stream(token.Identity(id), n) }

// SessionScope is the scope of block ids that are valid inside one session of a
// file.
func SessionScope(in *Input, session string) uint64 {
	return token.Identity(strconv.FormatUint(in.scope, 16) + "/" + session)
}

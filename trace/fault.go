package trace

import (
	"errors"
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with one row.
type Fault struct {
	File  string
	Line  int32  // from 1
	Field string // "" for the row as a whole
	Value string // what was found
	Want  string // what was expected
}

func (f *Fault) Error() string {
	field := f.Field
	if field == "" {
		field = "row"
	}
	return fmt.Sprintf("%s:%d: %s: found %s, expected %s", f.File, f.Line, field, f.Value, f.Want)
}

// asFault is err as a fault of a row, at p if it does not say where.
func asFault(err error, p Place) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return p.Fault("", err.Error(), "a task")
}

// maxFaults is how many bad rows a refusal names.
const maxFaults = 20

// Refusal is why a trace was not accepted: its bad rows, the first 20 of them in
// the order in which they were met.
type Refusal struct {
	Faults []*Fault
	More   int // bad rows that are not named
}

func (r *Refusal) Error() string {
	var b strings.Builder
	if n := len(r.Faults) + r.More; n == 1 {
		b.WriteString("1 bad row:")
	} else {
		fmt.Fprintf(&b, "%d bad rows:", n)
	}
	for _, f := range r.Faults {
		b.WriteString("\n  ")
		b.WriteString(f.Error())
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", r.More)
	}
	return b.String()
}

// add names one more bad row.
func (r *Refusal) add(f *Fault) {
	if len(r.Faults) == maxFaults {
		r.More++
		return
	}
	r.Faults = append(r.Faults, f)
}

// orNil is the refusal if there is anything to refuse.
func (r *Refusal) orNil() error {
	if len(r.Faults) == 0 {
		return nil
	}
	return r
}

// ErrNoRequests refuses a trace without any row, be it empty or blank.
var ErrNoRequests = errors.New("no requests")

// leaveOut is why a row is not used.
type leaveOut struct{ reason string }

func (l *leaveOut) Error() string { return "left out: " + l.reason }

// LeaveOut is what [RowReader.Parse] returns for a row that is not used by a rule
// of the format. Rows are counted by the reason.
func LeaveOut(reason string) error { return &leaveOut{reason} }

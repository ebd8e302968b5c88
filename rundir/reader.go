package rundir

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/reprise-sim/reprise/metrics"
)

// CellError is a cell of a CSV file that cannot be read.
type CellError struct {
	File  string
	Line  int
	Field string // name of the column
	Value string
	Want  string
}

func (e *CellError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %q: want %s", e.File, e.Line, e.Field, e.Value, e.Want)
}

// RequestReader reads the lines of per_request.csv.
type RequestReader struct {
	csv     *csv.Reader
	name    string
	buckets []string
	columns []*column // of the file; nil: one that nobody knows
	live    bool      // it has columns of a live run
	close   func() error
}

// NewRequestReader starts reading. name stands in errors; buckets are the names of
// buckets in order of their ids. Columns are found by name; others may stand
// beside them. Those of live runs may be missing.
func NewRequestReader(r io.Reader, name string, buckets []string) (*RequestReader, error) {
	in := &RequestReader{csv: csv.NewReader(r), name: name, buckets: buckets, close: func() error { return nil }}
	in.csv.ReuseRecord = true
	header, err := in.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty: want a line of column names", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in.columns = make([]*column, len(header))
	for i := range columns {
		at := slices.Index(header, columns[i].name)
		if at < 0 {
			return nil, fmt.Errorf("%s:1: column %s is missing", name, columns[i].name)
		}
		in.columns[at] = &columns[i]
	}
	for i := range liveColumns {
		if at := slices.Index(header, liveColumns[i].name); at >= 0 {
			in.columns[at], in.live = &liveColumns[i], true
		}
	}
	return in, nil
}

// Close ends reading.
func (in *RequestReader) Close() error { return in.close() }

// Next reads the next line into a record; io.EOF is the end.
func (in *RequestReader) Next(r *Record) error {
	cells, err := in.csv.Read()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	*r = Record{}
	if in.live {
		r.Live = new(LiveCall)
	}
	for i, c := range in.columns {
		if c == nil {
			continue
		}
		if want := parse(cells[i], c.value(r)); want != "" {
			return in.wrong(i, c.name, cells[i], want)
		}
		if c.name == "bucket" {
			r.Bucket = int32(slices.Index(in.buckets, r.BucketName))
			if r.Bucket < 0 && r.BucketName != "" {
				return in.wrong(i, c.name, r.BucketName, fmt.Sprintf("one of %q", in.buckets))
			}
		}
	}
	if r.CachedTokens >= 0 {
		r.Admissions = 1
	} else {
		r.CachedTokens, r.CachedMax = 0, 0
	}
	return nil
}

// wrong is the error for cell i of the current line.
func (in *RequestReader) wrong(i int, field, value, want string) error {
	line, _ := in.csv.FieldPos(i)
	return &CellError{in.name, line, field, value, want}
}

// parse sets a field from its cell; it answers what was expected if the cell is
// wrong.
func parse(cell string, field any) (want string) {
	switch v := field.(type) {
	case *float64:
		return parseFloat(cell, v)
	case *int32:
		return parseInt(cell, v)
	case *optional:
		if *v = -1; cell == "" {
			return ""
		}
		return parseInt(cell, (*int32)(v))
	case *string:
		*v = cell
	case *metrics.Status:
		var ok bool
		if *v, ok = metrics.ParseStatus(cell); !ok {
			return "a status"
		}
	case *metrics.Match:
		i := slices.Index(matchNames[:], cell)
		if i < 0 {
			return "true, false or nothing"
		}
		*v = metrics.Match(i)
	case *Verdict:
		i := slices.Index(verdictNames[:], cell)
		if i < 0 {
			return "true, false or nothing"
		}
		*v = Verdict(i)
	}
	return ""
}

func parseFloat(cell string, v *float64) (want string) {
	if *v = math.NaN(); cell == "" {
		return ""
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return "a finite number or nothing"
	}
	*v = x
	return ""
}

func parseInt(cell string, v *int32) (want string) {
	n, err := strconv.ParseInt(cell, 10, 32)
	if err != nil || n < 0 {
		return "an integer from 0"
	}
	*v = int32(n)
	return ""
}

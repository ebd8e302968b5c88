// Package table reads CSV tables whose errors have a place.
//
// A [Table] has a header; comments begin with #. Cells are read by the name of
// their column; what is wrong with a cell is noted with file, line and column, and
// [Table.Err] says it all. Files may be plain or gzip.
package table

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a CSV file read to its end.
type Table struct {
	file    string
	columns map[string]int
	header  []string
	rows    [][]string
	lines   []int
	errs    []error
}

// maxErrors is how many wrong cells are told.
const maxErrors = 20

// Read reads a table; the file's name is for errors.
func Read(file string, r io.Reader) (*Table, error) {
	buffered := bufio.NewReader(r)
	if magic, _ := buffered.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		buffered = bufio.NewReader(z)
	}
	c := csv.NewReader(buffered)
	c.Comment = '#'
	header, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: want a header and rows: %w", file, err)
	}
	t := &Table{file: file, header: slices.Clone(header), columns: map[string]int{}}
	for i, name := range header {
		if _, twice := t.columns[name]; twice {
			return nil, fmt.Errorf("%s: column %s stands twice", file, name)
		}
		t.columns[name] = i
	}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := c.FieldPos(0)
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
}

// Embedded reads a file that is part of the program, which cannot be wrong.
func Embedded[T any](file string, text []byte, read func(file string, text []byte) ([]T, error)) []T {
	list, err := read(file, text)
	if err != nil {
		panic(err)
	}
	return list
}

// Header lists the columns in order.
func (t *Table) Header() []string { return t.header }

// Has is whether there is a column of that name.
func (t *Table) Has(column string) bool { _, ok := t.columns[column]; return ok }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Rows visits all rows in order.
func (t *Table) Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for i := range t.rows {
			if !yield(&Row{t, i}) {
				return
			}
		}
	}
}

// Err tells all that was wrong with cells that were read.
func (t *Table) Err() error { return errors.Join(t.errs...) }

// Row is one row.
type Row struct {
	t *Table
	i int
}

// Line is the line of the file, from 1.
func (r *Row) Line() int { return r.t.lines[r.i] }

// Text is a cell; it is an error if there is no such column.
func (r *Row) Text(column string) string {
	i, ok := r.t.columns[column]
	if !ok {
		r.Fail(column, "no such column", "one of "+strings.Join(r.t.header, ", "))
		return ""
	}
	return strings.TrimSpace(r.t.rows[r.i][i])
}

// Word is a cell, "" if there is no such column.
func (r *Row) Word(column string) string {
	if !r.t.Has(column) {
		return ""
	}
	return r.Text(column)
}

// Number is a cell that has to be a finite number.
func (r *Row) Number(column string) float64 {
	text := r.Text(column)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		r.Fail(column, strconv.Quote(text), "a finite number")
		return 0
	}
	return v
}

// Optional is a cell that is a number, or empty or of no column: 0.
func (r *Row) Optional(column string) float64 {
	if r.Word(column) == "" {
		return 0
	}
	return r.Number(column)
}

// Int is a cell that has to be a whole number.
func (r *Row) Int(column string) int {
	v := r.Number(column)
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		r.Fail(column, r.Text(column), "a whole number")
		return 0
	}
	return int(v)
}

// OptionalInt is a cell that is a whole number, or empty or of no column: 0.
func (r *Row) OptionalInt(column string) int {
	if r.Word(column) == "" {
		return 0
	}
	return r.Int(column)
}

// Fail notes that a cell is wrong.
func (r *Row) Fail(column, found, want string) {
	if len(r.t.errs) < maxErrors {
		r.t.errs = append(r.t.errs, fmt.Errorf("%s:%d: %s: %s: want %s", r.t.file, r.Line(), column, found, want))
	}
}

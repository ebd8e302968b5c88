package linefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 28

// ErrLongLine refuses a line that no trace can have.
var ErrLongLine = fmt.Errorf("a line is longer than %d MiB", maxLine>>20)

// mark is the byte order mark of UTF-8.
var mark = []byte("\xef\xbb\xbf")

// Line is one line of a file.
type Line struct {
	Text   []byte // without line end
	Number int32  // from 1, blank lines counted
	Offset int64  // of its first byte in the plain file
}

// Lines reads the lines of a file that are not blank. A byte order mark in front
// of the file is dropped, and so is a carriage return at the end of a line.
type Lines struct {
	r      io.Reader
	buf    []byte
	from   int   // start of what has not been handed out
	to     int   // end of what has been read
	seen   int   // no line end before here
	offset int64 // of buf[0] in the file
	number int32
	err    error // why no more can be read
}

// NewLines reads the lines of r.
func NewLines(r io.Reader) *Lines {
	return &Lines{r: r, buf: make([]byte, 1<<18)}
}

// Next returns the next line, io.EOF after the last one. Its text is valid until
// the next call.
func (l *Lines) Next() (Line, error) {
	for {
		text, offset, err := l.next()
		if err == nil && l.number == math.MaxInt32 {
			return Line{}, fmt.Errorf("more than %d lines", l.number)
		}
		l.number++
		if err != nil {
			return Line{}, err
		}
		if offset == 0 && bytes.HasPrefix(text, mark) {
			text, offset = text[len(mark):], int64(len(mark))
		}
		if text = trimEnd(text); !blank(text) {
			return Line{text, l.number, offset}, nil
		}
	}
}

// Number is the number of the line that was returned last or, after an error, of
// the one that could not be read.
func (l *Lines) Number() int32 { return l.number }

// next returns the bytes up to the next line end.
func (l *Lines) next() (text []byte, offset int64, err error) {
	for {
		if n := bytes.IndexByte(l.buf[l.seen:l.to], '\n'); n >= 0 {
			end := l.seen + n
			text, offset = l.buf[l.from:end], l.offset+int64(l.from)
			l.from, l.seen = end+1, end+1
			return text, offset, nil
		}
		l.seen = l.to
		if l.err != nil {
			if l.from < l.to && l.err == io.EOF {
				text, offset = l.buf[l.from:l.to], l.offset+int64(l.from)
				l.from = l.to
				return text, offset, nil
			}
			return nil, 0, l.err
		}
		if err := l.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// fill reads on, behind what has not been handed out.
func (l *Lines) fill() error {
	if l.from > 0 {
		copy(l.buf, l.buf[l.from:l.to])
		l.offset += int64(l.from)
		l.to -= l.from
		l.seen -= l.from
		l.from = 0
	}
	if l.to == len(l.buf) {
		if len(l.buf) >= maxLine {
			return ErrLongLine
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.to:])
	l.to += n
	l.err = err
	return nil
}

// trimEnd drops a carriage return at the end of a line.
func trimEnd(text []byte) []byte {
	return bytes.TrimSuffix(text, []byte("\r"))
}

// blank is whether a line has nothing but spaces.
func blank(text []byte) bool {
	return len(text) == 0 || text[0] <= ' ' && len(bytes.TrimSpace(text)) == 0
}

// Window reads single lines of a file at known offsets. It reads the more at once
// the longer lines are asked for one behind the other.
type Window struct {
	f      io.ReaderAt
	buf    []byte
	offset int64 // of buf[0] in the file
	size   int   // how much to read next time
}

// Bounds of what a window reads at once.
const (
	minWindow = 1 << 9
	maxWindow = 1 << 16
)

// Window starts reading single lines. A compressed file must have been unpacked.
func (f *File) Window() *Window {
	switch {
	case f.unpacked != nil:
		return &Window{f: f.unpacked}
	case f.packing == plain:
		return &Window{f: f.stored}
	}
	panic("linefile: a compressed file has no offsets before it is unpacked")
}

// Line returns the text of the line that starts at offset, valid until the next
// call.
func (w *Window) Line(offset int64) ([]byte, error) {
	if text, ok := w.loaded(offset); ok {
		return text, nil
	}
	w.size = min(2*w.size, maxWindow)
	if end := w.offset + int64(len(w.buf)); offset < w.offset || offset > end {
		w.size = minWindow
	}
	for size := max(w.size, minWindow); ; size *= 2 {
		ended, err := w.load(offset, size)
		if err != nil {
			return nil, err
		}
		if text, ok := w.loaded(offset); ok {
			return text, nil
		}
		if ended {
			return trimEnd(w.buf), nil
		}
		if size > maxLine {
			return nil, ErrLongLine
		}
	}
}

// loaded is the line at offset if all of it has been read.
func (w *Window) loaded(offset int64) ([]byte, bool) {
	skip := offset - w.offset
	if skip < 0 || skip >= int64(len(w.buf)) {
		return nil, false
	}
	rest := w.buf[skip:]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		return nil, false
	}
	return trimEnd(rest[:n]), true
}

// load reads size bytes at offset, or up to the end of the file.
func (w *Window) load(offset int64, size int) (ended bool, err error) {
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	n, err := w.f.ReadAt(w.buf[:size], offset)
	w.buf, w.offset = w.buf[:n], offset
	if n == 0 && err != nil {
		return true, errors.Join(errors.New("the file has changed since it was checked"), err)
	}
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

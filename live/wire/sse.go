package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the longest event that is read, in bytes: the expert ids of a long
// prompt come in one piece.
const MaxEvent = 1 << 28

// errTooLong ends a stream whose event is longer than a reader takes.
var errTooLong = errors.New("an event of the stream is too long")

// Reader splits a stream of server-sent events. Lines end in LF, CR or CR LF, and may
// arrive in pieces of any size; comments, which keep connections alive, and fields
// other than data are skipped (HTML standard, 9.2.6). An event that the end of the
// stream cuts off is delivered: some servers leave out the last empty line.
type Reader struct {
	in         io.Reader
	limit      int
	buffer     []byte
	start, end int  // of what is buffered and not yet read
	skipLF     bool // the last line ended in CR
	begun      bool // a byte order mark can no longer come
	err        error
	data       []byte
}

// NewReader reads events of at most limit bytes.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: in, limit: limit, buffer: make([]byte, 4096)}
}

// Next is the data of the next event, io.EOF at the end of the stream. It is valid
// until the next call.
func (r *Reader) Next() ([]byte, error) {
	r.data = r.data[:0]
	some := false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && some {
				return r.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return r.data, nil
			}
			continue
		}
		text, ok := bytes.CutPrefix(line, []byte("data"))
		if !ok || len(text) > 0 && text[0] != ':' {
			continue
		}
		if some {
			r.data = append(r.data, '\n')
		}
		some = true
		if len(text) > 0 {
			text = bytes.TrimPrefix(text[1:], []byte(" "))
		}
		if len(r.data)+len(text) > r.limit {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, r.limit)
		}
		r.data = append(r.data, text...)
	}
}

// line is the next line without its end. Of an unfinished last line the text is
// returned, then the error.
func (r *Reader) line() ([]byte, error) {
	scanned := 0
	for {
		if r.skipLF && r.start < r.end {
			if r.buffer[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		if at := bytes.IndexAny(r.buffer[r.start+scanned:r.end], "\r\n"); at >= 0 {
			line := r.buffer[r.start : r.start+scanned+at]
			r.start += len(line) + 1
			r.skipLF = r.buffer[r.start-1] == '\r'
			return r.unmarked(line), nil
		}
		scanned = r.end - r.start
		if r.err != nil {
			if scanned > 0 {
				line := r.buffer[r.start:r.end]
				r.start = r.end
				return r.unmarked(line), nil
			}
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// unmarked is a line without the byte order mark that the first one may begin with.
func (r *Reader) unmarked(line []byte) []byte {
	if !r.begun {
		r.begun = true
		return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// fill reads what there is, at least one byte. What ends the stream is kept for when
// all before it has been read.
func (r *Reader) fill() error {
	if r.start > 0 {
		copy(r.buffer, r.buffer[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	if r.end == len(r.buffer) {
		if len(r.buffer) > r.limit {
			return fmt.Errorf("%w: more than %d bytes", errTooLong, r.limit)
		}
		r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
	}
	for range 100 { // a reader that brings nothing a hundred times is broken
		n, err := r.in.Read(r.buffer[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}

package sse

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLong ends a stream whose event is longer than a reader takes.
var ErrTooLong = errors.New("an event of the stream is too long")

// Reader fetches a stream event by event. An event that the end of the stream cuts off
// is delivered: some servers leave out the last empty line.
type Reader struct {
	in     io.Reader
	buffer []byte
	rest   []byte // read and not yet parsed
	err    error  // what ended the stream, for when all before it has been parsed
	parser Parser
}

// NewReader reads events of at most limit bytes.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: in, buffer: make([]byte, 4096), parser: Parser{limit: limit}}
}

// Next is the data of the next event, io.EOF at the end of the stream. It is valid
// until the next call.
func (r *Reader) Next() ([]byte, error) {
	for {
		rest, complete := r.parser.take(r.rest)
		r.rest = rest
		switch {
		case r.parser.toolong:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.parser.longest())
		case complete:
			return r.parser.data, nil
		case r.err == io.EOF && r.parser.end() && !r.parser.toolong:
			return r.parser.data, nil
		case r.err != nil:
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads what there is, at least one byte.
func (r *Reader) fill() error {
	for range 100 { // a reader that brings nothing a hundred times is broken
		n, err := r.in.Read(r.buffer)
		r.rest, r.err = r.buffer[:n], err
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}

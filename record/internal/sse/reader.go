package sse

import "bytes"

// maxEvent bounds an event: the routes of a long call are tens of megabytes.
const maxEvent = 1 << 28

// Reader cuts a stream into events (WHATWG HTML, "Server-sent events": lines end in
// LF, CR or CR LF; an event ends with an empty line; data lines are joined by LF).
// The zero value is ready to use.
type Reader struct {
	line    []byte // begun and not ended
	name    []byte // of the event
	data    []byte
	started bool // the event has a data line
	afterCR bool // the last line ended in CR: an LF that follows belongs to it
	begun   bool // a line has been read: no byte order mark is expected any more
	toolong bool // the event is longer than maxEvent
}

// Write takes the next piece of the stream and calls event for each event that it
// completes. name is "" if the event has none. Both are valid during the call only.
func (r *Reader) Write(piece []byte, event func(name, data []byte)) {
	for len(piece) > 0 {
		if r.afterCR {
			r.afterCR = false
			if piece[0] == '\n' {
				piece = piece[1:]
				continue
			}
		}
		end := lineEnd(piece)
		if end < 0 {
			r.keep(piece)
			return
		}
		r.afterCR = piece[end] == '\r'
		if len(r.line) > 0 {
			r.keep(piece[:end])
			r.endLine(r.line, event)
			r.line = r.line[:0]
		} else {
			r.endLine(piece[:end], event)
		}
		piece = piece[end+1:]
	}
}

// lineEnd is where the first line of piece ends, -1 if it does not.
func lineEnd(piece []byte) int {
	lf := bytes.IndexByte(piece, '\n')
	before := piece
	if lf >= 0 {
		before = piece[:lf]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// keep adds to the line that has begun.
func (r *Reader) keep(piece []byte) {
	if len(r.line)+len(piece) > maxEvent {
		r.toolong = true
		return
	}
	r.line = append(r.line, piece...)
}

// endLine takes a whole line.
func (r *Reader) endLine(line []byte, event func(name, data []byte)) {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		if r.started && !r.toolong {
			event(r.name, r.data)
		}
		r.name, r.data, r.started, r.toolong = r.name[:0], r.data[:0], false, false
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.name = append(r.name[:0], value...)
	case "data":
		if len(r.data)+len(value) > maxEvent {
			r.toolong = true
			return
		}
		if r.started {
			r.data = append(r.data, '\n')
		}
		r.started = true
		r.data = append(r.data, value...)
	}
}

// Pending is whether the stream has stopped inside an event.
func (r *Reader) Pending() bool { return r.started || len(r.line) > 0 }

package sse

import "bytes"

// MaxEvent bounds an event, in bytes, where nobody says another limit: the expert ids
// of a long prompt come in one piece of tens of megabytes.
const MaxEvent = 1 << 28

// Parser cuts a stream into events: lines end in LF, CR or CR LF; an event ends with
// an empty line; data lines are joined by LF. The zero value is ready to use.
type Parser struct {
	limit   int    // longest event, 0: MaxEvent
	line    []byte // begun and not ended
	name    []byte // of the event
	data    []byte
	started bool // the event has a data line
	whole   bool // the event has been handed out
	afterCR bool // the last line ended in CR: an LF that follows belongs to it
	begun   bool // a line has been read: no byte order mark is expected any more
	toolong bool // the event is longer than the limit
}

// Write takes the next piece of the stream and calls event for each event that it
// completes. name is "" if the event has none. Both are valid during the call only.
// Events that are too long are left out.
func (p *Parser) Write(piece []byte, event func(name, data []byte)) {
	for {
		rest, complete := p.take(piece)
		if !complete {
			return
		}
		if !p.toolong {
			event(p.name, p.data)
		}
		piece = rest
	}
}

// take takes of a piece what belongs to the next event, and is whether the event is
// complete then. It stays in p until the next call.
func (p *Parser) take(piece []byte) (rest []byte, complete bool) {
	if p.whole {
		p.reset()
	}
	for len(piece) > 0 {
		if p.afterCR {
			p.afterCR = false
			if piece[0] == '\n' {
				piece = piece[1:]
				continue
			}
		}
		end := lineEnd(piece)
		if end < 0 {
			p.keep(piece)
			return nil, false
		}
		p.afterCR = piece[end] == '\r'
		line := piece[:end]
		piece = piece[end+1:]
		if len(p.line) > 0 {
			p.keep(line)
			line = p.line
			p.line = p.line[:0]
		}
		if p.endLine(line) {
			return piece, true
		}
	}
	return nil, false
}

// end takes the end of the stream, and is whether it completes an event.
func (p *Parser) end() bool {
	if p.whole {
		p.reset()
	}
	if len(p.line) > 0 {
		p.endLine(p.line)
		p.line = p.line[:0]
	}
	p.whole = p.started
	return p.started
}

// reset begins the next event.
func (p *Parser) reset() {
	p.name, p.data, p.started, p.whole, p.toolong = p.name[:0], p.data[:0], false, false, false
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
func (p *Parser) keep(piece []byte) {
	if len(p.line)+len(piece) > p.longest() {
		p.toolong = true
		return
	}
	p.line = append(p.line, piece...)
}

func (p *Parser) longest() int {
	if p.limit == 0 {
		return MaxEvent
	}
	return p.limit
}

// endLine takes a whole line, and is whether it ends an event.
func (p *Parser) endLine(line []byte) bool {
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		if !p.started {
			p.reset() // a name without data is no event
		}
		p.whole = p.started
		return p.started
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		p.name = append(p.name[:0], value...)
	case "data":
		if len(p.data)+len(value) > p.longest() {
			p.toolong = true
			return false
		}
		if p.started {
			p.data = append(p.data, '\n')
		}
		p.started = true
		p.data = append(p.data, value...)
	}
	return false
}

// Pending is whether the stream has stopped inside an event.
func (p *Parser) Pending() bool { return p.started && !p.whole || len(p.line) > 0 }

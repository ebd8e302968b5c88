package jsonrow

import (
	"bytes"
	"unicode/utf8"
)

// Fault is what is wrong with a row.
type Fault struct {
	Field string // path of the field, "" for the row as a whole
	Value string // what was found, cut if it is long
	Want  string // what was expected
}

// maxDepth is how deep values may be nested.
const maxDepth = 256

// Scanner walks over the object of one line: [Scanner.Open], then [Scanner.Key]
// and one value for each key, then [Scanner.Close]. Arrays are walked with
// [Scanner.OpenArray] and [Scanner.More]. The first fault ends the walk: what is
// asked for afterwards is zero, Key and More are false.
type Scanner struct {
	line  []byte
	at    int
	fresh bool // nothing has been read inside the innermost object or array
	fault *Fault
	keys  [8]span // where the keys of the open objects stand, outermost first
	depth int     // open objects
	text  []byte  // scratch for strings with escapes
}

type span struct{ from, to int }

// Reset starts with a new line, which must stay unchanged while it is scanned.
func (s *Scanner) Reset(line []byte) {
	s.line, s.at, s.depth, s.fault = line, 0, 0, nil
}

// Fault is what is wrong with the row so far, nil if nothing is.
func (s *Scanner) Fault() *Fault { return s.fault }

// Open enters the object that is expected next.
func (s *Scanner) Open() {
	if s.depth == len(s.keys) {
		s.want("fewer nested objects")
	}
	if !s.take('{') {
		s.want("an object in {}")
		return
	}
	s.keys[s.depth] = span{}
	s.depth++
	s.fresh = true
}

// Key moves on to the next key of the object and returns it; it is false at the
// end of the object. The key is valid until the next call.
func (s *Scanner) Key() ([]byte, bool) {
	if !s.step('}', "a comma or }") {
		if s.fault == nil {
			s.depth--
		}
		return nil, false
	}
	from := s.at
	key, ok := s.quoted()
	if !ok {
		s.keys[s.depth-1] = span{}
		s.want(s.encoding("a key in quotes"))
		return nil, false
	}
	s.keys[s.depth-1] = span{from + 1, s.at - 1}
	if !s.take(':') {
		s.want("a colon")
		return nil, false
	}
	return key, true
}

// Close makes sure that nothing follows the object.
func (s *Scanner) Close() {
	if s.skipSpace(); s.fault == nil && s.at < len(s.line) {
		s.want("one object on the line")
	}
}

// OpenArray enters the array that is expected next.
func (s *Scanner) OpenArray(want string) {
	if !s.take('[') {
		s.want(want)
		return
	}
	s.fresh = true
}

// More moves on to the next element of the array; it is false at the end.
func (s *Scanner) More() bool { return s.step(']', "a comma or ]") }

// step moves on to the next member or element of what is open, over the comma
// between two of them, or behind its end.
func (s *Scanner) step(end byte, want string) bool {
	if s.fault != nil {
		return false
	}
	fresh := s.fresh
	s.fresh = false
	if s.take(end) {
		return false
	}
	if !fresh {
		if !s.take(',') {
			s.want(want)
			return false
		}
		s.skipSpace()
	}
	return true
}

// take moves over spaces and over c, if c is next.
func (s *Scanner) take(c byte) bool {
	s.skipSpace()
	if s.fault == nil && s.at < len(s.line) && s.line[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *Scanner) skipSpace() {
	for s.at < len(s.line) {
		switch s.line[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// Fail ends the walk: the field name holds value where want was expected. The
// name is one of the innermost open object's; "" is the field that was read last.
func (s *Scanner) Fail(name, value, want string) {
	if s.fault == nil {
		s.fault = &Fault{Field: s.path(name), Value: value, Want: want}
	}
}

// Missing ends the walk because the object that has just ended lacks a field.
func (s *Scanner) Missing(name, want string) { s.Fail(name, "nothing", want) }

// Duplicate ends the walk at a key that the object has had before.
func (s *Scanner) Duplicate() { s.want("the field once") }

// want ends the walk at the next value.
func (s *Scanner) want(want string) { s.Fail("", s.found(), want) }

// path names a field below the keys of the open objects.
func (s *Scanner) path(name string) string {
	var path []byte
	join := func(part []byte) {
		if len(path) > 0 && len(part) > 0 {
			path = append(path, '.')
		}
		path = append(path, part...)
	}
	for _, k := range s.keys[:s.depth] {
		join(s.line[k.from:k.to])
	}
	join([]byte(name))
	return string(path)
}

// found is the value that stands next, as an error message shows it.
func (s *Scanner) found() string {
	s.skipSpace()
	rest := s.line[s.at:]
	if len(rest) == 0 {
		return "the end of the line"
	}
	end := bytes.IndexAny(rest, ",}] \t\r\n")
	switch rest[0] {
	case '"':
		if end = bytes.IndexByte(rest[1:], '"'); end >= 0 {
			end += 2
		}
	case '{', '[':
		end = len(rest)
	case ',', '}', ']':
		return "nothing"
	}
	if end <= 0 || end > len(rest) {
		end = len(rest)
	}
	return Excerpt(rest[:end])
}

// Excerpt is a text as an error message shows it: cut if it is long, and without
// what a terminal cannot show.
func Excerpt(text []byte) string {
	const most = 40
	cut := text
	if len(text) > most {
		cut = text[:most]
		for len(cut) > 0 && !utf8.RuneStart(text[len(cut)]) {
			cut = cut[:len(cut)-1]
		}
	}
	shown := string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, cut))
	if len(cut) < len(text) {
		shown += "…"
	}
	return shown
}

package jsonrow

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a string. It is valid until the next string is read.
func (s *Scanner) Text(want string) []byte {
	s.skipSpace()
	text, ok := s.quoted()
	if !ok {
		s.want(s.encoding(want))
		return nil
	}
	return text
}

// encoding is want, or UTF-8 if the string that stands next is in quotes but not in
// that.
func (s *Scanner) encoding(want string) string {
	if rest := s.line[s.at:]; len(rest) > 0 && rest[0] == '"' {
		if inside, _, closed := bytes.Cut(rest[1:], []byte{'"'}); closed && !utf8.Valid(inside) {
			return "valid UTF-8"
		}
	}
	return want
}

// Bool reads true or false.
func (s *Scanner) Bool(want string) bool {
	switch {
	case s.word("true"):
		return true
	case s.word("false"):
		return false
	}
	s.want(want)
	return false
}

// Raw reads any value and returns its text, a part of the line.
func (s *Scanner) Raw() []byte {
	s.skipSpace()
	from := s.at
	s.value(0)
	if s.fault != nil {
		return nil
	}
	return s.line[from:s.at]
}

// Skip reads any value and drops it. It has to be valid JSON all the same.
func (s *Scanner) Skip() { s.Raw() }

// value moves over any value.
func (s *Scanner) value(depth int) {
	if s.skipSpace(); s.fault != nil {
		return
	}
	if depth == maxDepth {
		s.want("less deeply nested values")
		return
	}
	if s.at == len(s.line) {
		s.want("a value")
		return
	}
	switch c := s.line[s.at]; {
	case c == '"':
		if !s.skipText() {
			s.want(s.encoding("a string of valid text"))
		}
	case c == '{':
		s.object(depth)
	case c == '[':
		s.at++
		for s.fresh = true; s.step(']', "a comma or ]"); {
			s.value(depth + 1)
		}
	case s.word("true") || s.word("false") || s.word("null"):
	default:
		if n := s.number(); n.to == n.from {
			s.want("a value")
		}
	}
}

// object moves over an object whose keys do not matter.
func (s *Scanner) object(depth int) {
	s.at++
	for s.fresh = true; s.step('}', "a comma or }"); {
		if !s.skipText() {
			s.want("a key in quotes")
		}
		if !s.take(':') {
			s.want("a colon")
		}
		s.value(depth + 1)
	}
}

// quoted moves over a string and returns its text without quotes and escapes. If
// there is no valid string, the scanner stays where it is.
func (s *Scanner) quoted() (text []byte, ok bool) {
	from := s.at
	escaped, ok := s.quotes()
	if !ok {
		return nil, false
	}
	text = s.line[from+1 : s.at-1]
	if !escaped {
		return text, true
	}
	if s.text, ok = unescape(s.text[:0], text); !ok {
		s.at = from
	}
	return s.text, ok
}

// skipText moves over a string.
func (s *Scanner) skipText() bool {
	_, ok := s.quotes()
	return ok
}

// quotes moves over a string and says whether there are escapes in it.
func (s *Scanner) quotes() (escaped, ok bool) {
	b, at := s.line, s.at
	if s.fault != nil || at == len(b) || b[at] != '"' {
		return false, false
	}
	wide := false
	for at++; ; at++ {
		if at += plainText(b[at:]); at == len(b) {
			return false, false
		}
		switch c := b[at]; {
		case c == '"':
			if wide && !utf8.Valid(b[s.at:at]) {
				return false, false
			}
			s.at = at + 1
			return escaped, true
		case c == '\\':
			n := escape(b[at+1:])
			if n == 0 {
				return false, false
			}
			escaped = true
			at += n
		case c < ' ':
			return false, false
		default:
			wide = true
		}
	}
}

// plainText is how many bytes in front of b are printable ASCII other than quotes
// and backslashes. It looks at eight bytes at once: a byte's high bit is set in odd
// if the byte is one of the others. Borrows can set it for bytes behind the first
// such one only.
func plainText(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		odd := (w | (w - ' '*ones) | (quote - ones) | (slash - ones)) & highs
		if odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	for n < len(b) && b[n] >= ' ' && b[n] < utf8.RuneSelf && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// escape is the length of the escape that follows a backslash, 0 if it is none.
func escape(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == 'u':
		if _, ok := hex4(b[1:]); !ok {
			return 0
		}
		return 5
	case bytes.IndexByte([]byte(`"\/bfnrt`), b[0]) >= 0:
		return 1
	}
	return 0
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// unescape appends a string's text to dst. Half a surrogate pair is no text.
func unescape(dst, text []byte) ([]byte, bool) {
	for len(text) > 0 {
		if text[0] != '\\' {
			dst = append(dst, text[0])
			text = text[1:]
			continue
		}
		c := text[1]
		text = text[2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
					return dst, false
				}
				low, _ := hex4(text[2:])
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return dst, false
				}
				text = text[6:]
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst, true
}

// word moves over a literal.
func (s *Scanner) word(w string) bool {
	s.skipSpace()
	if s.fault != nil || !bytes.HasPrefix(s.line[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

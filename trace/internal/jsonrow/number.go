package jsonrow

import (
	"math"
	"strconv"
)

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float reads a number, which has to be finite. want says what a number is
// expected for.
func (s *Scanner) Float(want string) float64 {
	n := s.number()
	if s.fault != nil || n.to == n.from {
		s.want(want)
		return 0
	}
	if n.exact {
		return n.value
	}
	f, err := strconv.ParseFloat(string(s.line[n.from:n.to]), 64)
	if err != nil {
		s.at = n.from
		s.want(want)
		return 0
	}
	return f
}

// MaxMs is the largest number of milliseconds that a row may have, some 30,000
// years: times can be added and divided without becoming infinite, and one in a
// smaller unit is not taken for ms.
const MaxMs = 1e15

// Time reads a number of milliseconds that is not negative and at most MaxMs.
func (s *Scanner) Time(want string) float64 {
	s.skipSpace()
	from := s.at
	f := s.Float(want)
	if f < 0 || f > MaxMs {
		if f > MaxMs {
			want = "milliseconds, at most 1e15"
		}
		s.at = from
		s.want(want)
		return 0
	}
	return f + 0 // no negative zero
}

// Int reads a whole number from low to high. 12.0 is 12.
func (s *Scanner) Int(low, high int64, want string) int64 {
	s.skipSpace()
	from := s.at
	f := s.Float(want)
	if f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		s.at = from
		s.want(want)
		return 0
	}
	return int64(f)
}

// Count reads a number of tokens or the like: a whole number from 0 to 2^31 − 1.
func (s *Scanner) Count(want string) int32 {
	return int32(s.Int(0, math.MaxInt32, want))
}

// Uint64 reads a block id: digits only, from 0 to 2^64 − 1.
func (s *Scanner) Uint64(want string) uint64 {
	s.skipSpace()
	n, at := uint64(0), s.at
	for at < len(s.line) {
		d := uint64(s.line[at] - '0')
		if d > 9 {
			break
		}
		if n >= math.MaxUint64/10 && (n > math.MaxUint64/10 || d > math.MaxUint64%10) {
			s.want(want)
			return 0
		}
		n = n*10 + d
		at++
	}
	if s.fault != nil || at == s.at || s.line[s.at] == '0' && at > s.at+1 || s.numberGoesOn(at) {
		s.want(want)
		return 0
	}
	s.at = at
	return n
}

// numberGoesOn is whether a fraction or an exponent stands at at.
func (s *Scanner) numberGoesOn(at int) bool {
	return at < len(s.line) && (s.line[at] == '.' || s.line[at]|0x20 == 'e')
}

// Uint64s appends the block ids of an array to dst.
func (s *Scanner) Uint64s(dst []uint64, want string) []uint64 {
	for s.OpenArray("an array in []"); s.More(); {
		dst = append(s.plainIDs(dst), s.Uint64(want))
	}
	return dst
}

// plainIDs appends the ids that are followed by a comma, up to the first thing
// that needs a closer look. Long lists are most of a trace's bytes.
func (s *Scanner) plainIDs(dst []uint64) []uint64 {
	s.skipSpace()
	b, at := s.line, s.at
	for {
		n, from := uint64(0), at
		for at < len(b) && b[at]-'0' <= 9 {
			n = n*10 + uint64(b[at]-'0')
			at++
		}
		digits := at - from
		if digits == 0 || digits > 19 || digits > 1 && b[from] == '0' || at == len(b) || b[at] != ',' {
			return dst
		}
		dst = append(dst, n)
		for at++; at < len(b) && b[at] == ' '; at++ {
		}
		s.at = at
	}
}

// Uint32s appends the token ids of an array to dst.
func (s *Scanner) Uint32s(dst []uint32, want string) []uint32 {
	for s.OpenArray("an array in []"); s.More(); {
		s.skipSpace()
		from := s.at
		n := s.Uint64(want)
		if n > math.MaxUint32 {
			s.at = from
			s.want(want)
			return dst
		}
		dst = append(dst, uint32(n))
	}
	return dst
}

// numeral is where a number stands in the line, and its value if it is cheap to
// know exactly: at most 15 digits, no exponent.
type numeral struct {
	from, to int
	value    float64
	exact    bool
}

// number moves over a number of JSON's grammar. If there is none, the scanner
// stays where it is and the numeral is empty.
func (s *Scanner) number() (n numeral) {
	s.skipSpace()
	b, from := s.line, s.at
	at := from
	if at < len(b) && b[at] == '-' {
		at++
	}
	first := at
	var whole, digits, point int
	for at < len(b) && b[at]-'0' <= 9 {
		whole = whole*10 + int(b[at]-'0')
		at++
	}
	digits = at - first
	if digits == 0 || b[first] == '0' && digits > 1 {
		return numeral{from, from, 0, false}
	}
	if at < len(b) && b[at] == '.' {
		at++
		point = at
		for at < len(b) && b[at]-'0' <= 9 {
			whole = whole*10 + int(b[at]-'0')
			at++
		}
		if point = at - point; point == 0 {
			return numeral{from, from, 0, false}
		}
	}
	n = numeral{from: from, exact: digits+point <= 15}
	if n.exact {
		n.value = float64(whole) / tens[point]
		if first > from {
			n.value = -n.value
		}
	}
	if at < len(b) && b[at]|0x20 == 'e' {
		n.exact = false
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		power := at
		for at < len(b) && b[at]-'0' <= 9 {
			at++
		}
		if at == power {
			return numeral{from, from, 0, false}
		}
	}
	n.to = at
	s.at = at
	return n
}

package jsonrow

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Line builds the text of one object, member by member. The first thing that cannot
// be written is kept as an error until the next line begins.
type Line struct {
	text []byte
	err  error
}

// Begin starts a new line.
func (l *Line) Begin() {
	l.text, l.err = append(l.text[:0], '{'), nil
}

// End completes the line. The text, line end included, is valid until the next line
// begins.
func (l *Line) End() ([]byte, error) {
	l.text = append(l.text, '}', '\n')
	return l.text, l.err
}

// Refuse notes why the line cannot be written.
func (l *Line) Refuse(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// Open starts a member that is an object or an array, Element an object that is an
// element; Shut ends it.
func (l *Line) Open(name string, bracket byte) {
	l.key(name)
	l.text = append(l.text, bracket)
}

// Element starts an element of an array that is an object.
func (l *Line) Element() {
	l.comma()
	l.text = append(l.text, '{')
}

// Shut ends what has been opened.
func (l *Line) Shut(bracket byte) { l.text = append(l.text, bracket) }

// Text adds a text, Optional one that is left out if it is empty.
func (l *Line) Text(name, text string) {
	l.key(name)
	l.text = AppendText(l.text, text)
}

// Optional adds a text unless it is empty.
func (l *Line) Optional(name, text string) {
	if text != "" {
		l.Text(name, text)
	}
}

// Int adds a whole number.
func (l *Line) Int(name string, n int64) {
	l.key(name)
	l.text = strconv.AppendInt(l.text, n, 10)
}

// Count adds a whole number unless it is 0.
func (l *Line) Count(name string, n int64) {
	if n != 0 {
		l.Int(name, n)
	}
}

// Time adds a number of milliseconds, which must be one that [Scanner.Time] reads.
func (l *Line) Time(name string, ms float64) {
	if !(ms >= 0 && ms <= MaxMs) {
		l.Refuse("%s: found %v, expected milliseconds, from 0 to 1e15", name, ms)
	}
	l.key(name)
	l.text = AppendFloat(l.text, ms)
}

// True adds a member that is true.
func (l *Line) True(name string) {
	l.key(name)
	l.text = append(l.text, "true"...)
}

// Raw adds a JSON value, on one line, unless there is none.
func (l *Line) Raw(name string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	l.key(name)
	text, err := appendRaw(l.text, raw)
	if err != nil {
		l.Refuse("%s: %w", name, err)
	}
	l.text = text
}

// Number is what arrays are made of.
type Number interface{ ~int32 | ~uint32 | ~uint64 }

// List adds an array of numbers to a line.
func List[T Number](l *Line, name string, ns []T) {
	l.key(name)
	l.text = appendList(l.text, ns)
}

// ListElement adds an element that is an array of numbers.
func ListElement[T Number](l *Line, ns []T) {
	l.comma()
	l.text = appendList(l.text, ns)
}

func (l *Line) key(name string) {
	l.comma()
	l.text = append(l.text, '"')
	l.text = append(l.text, name...)
	l.text = append(l.text, '"', ':')
}

// comma separates a member or an element from the one before.
func (l *Line) comma() {
	if last := l.text[len(l.text)-1]; last != '{' && last != '[' {
		l.text = append(l.text, ',')
	}
}

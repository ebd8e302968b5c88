package keys

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	At   string // where it stands: file:line:column or an argument; "" if nobody wrote it
	Key  string // the whole path of the key; "" if it is about no key
	Text string // what was found and what was expected
	More string // a long list that helps, on lines of its own; "" if there is none
}

func (p *Problem) Error() string {
	parts := []string{p.At, bracketed(p.Key), p.Text}
	line := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
	return line + wrap(p.More)
}

// bracketed is a path with the numbers of items in brackets.
func bracketed(path string) string {
	parts := strings.Split(path, ".")
	shown := parts[0]
	for _, part := range parts[1:] {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			shown += "[" + part + "]"
		} else {
			shown += "." + part
		}
	}
	return shown
}

// Lists are wrapped to lines of this width, which are indented.
const (
	lineWidth = 100
	indent    = "\n      "
)

// wrap puts words on lines of their own.
func wrap(text string) string {
	var b strings.Builder
	width := lineWidth
	for _, word := range strings.Fields(text) {
		if width+1+len(word) > lineWidth {
			b.WriteString(indent)
			width = len(indent) - 1
		} else {
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// maxProblems is how many problems one message names.
const maxProblems = 20

// Problems are all that is wrong with a configuration.
type Problems []*Problem

func (ps Problems) Error() string {
	if len(ps) == 1 {
		return ps[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems in the configuration:", len(ps))
	for i, p := range ps {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(ps)-i)
			break
		}
		b.WriteString("\n  " + p.Error())
	}
	return b.String()
}

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

// Nearest is the name that is most like a misspelt one: one that it begins, else
// the one with the fewest letters to change; "" if more than a third of them and
// more than two would have to change, or all of them.
func Nearest(misspelt string, known []string) string {
	best, bestDistance := "", min(max(3, len(misspelt)/3+1), len(misspelt))
	for _, name := range known {
		d := distance(misspelt, name)
		if len(misspelt) > 2 && strings.HasPrefix(name, misspelt) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is how many letters have to be inserted, deleted, replaced or swapped
// with a neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	row := make([][]int, len(a)+1)
	for i := range row {
		row[i] = make([]int, len(b)+1)
		row[i][0] = i
	}
	for j := range row[0] {
		row[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := row[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[i][j] = min(row[i-1][j]+1, row[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[i][j] = min(row[i][j], row[i-2][j-2]+1)
			}
		}
	}
	return row[len(a)][len(b)]
}

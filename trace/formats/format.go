package formats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/trace"
)

// Auto, as a format or a setting, leaves the choice to the content.
const Auto = "auto"

// Options are the trace settings of a run (DESIGN.md 6). The zero value leaves
// everything to the content.
type Options struct {
	Format    string // name of a format; "" or Auto: found by content
	BlockSize int    // tokens of a block id; 0: the format's
	IDs       string // scope of block ids, a trace.IDs constant; "" or Auto: the format's
	IDsCover  string // which blocks have ids, a trace.Cover constant; "" or Auto: the format's
}

// Format is a format of traces that can be read.
type Format struct {
	Name  string
	About string // one line for people
	Looks string // what Sniff looks for, for people
	// Sniff is whether the beginning of a file looks like the format.
	Sniff func(head []byte) bool
	// Open checks the inputs and makes a trace of them. It refuses options that
	// cannot apply.
	Open func(inputs []*trace.Input, o Options) (trace.Trace, error)
	// Create starts a file, Write writes to w. They are nil if the format can only
	// be read.
	Create func(path string, h trace.Header) (trace.Sink, error)
	Write  func(w io.Writer, h trace.Header) (trace.Sink, error)
}

// all are the formats, in the order of their names.
var all []Format

// register adds a format.
func register(f Format) {
	i, _ := slices.BinarySearchFunc(all, f.Name, func(f Format, name string) int { return strings.Compare(f.Name, name) })
	all = slices.Insert(all, i, f)
}

// All are the formats that can be read, in the order of their names.
func All() []Format { return slices.Clone(all) }

// Names are the names of the formats that can be read.
func Names() []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}

// Open opens the files of a trace, finds their format, checks all rows and makes a
// trace of them. Several files are one trace; their tasks are merged by time. "-"
// is standard input.
func Open(paths []string, o Options) (trace.Trace, error) {
	if len(paths) == 0 {
		return nil, errors.New("path: found nothing, expected a file")
	}
	inputs, err := trace.OpenInputs(paths...)
	if err != nil {
		return nil, err
	}
	f, err := choose(inputs, o.Format)
	if err != nil {
		return nil, err
	}
	return f.Open(inputs, o)
}

// Create starts writing a trace in a format. "-" is standard output; another path
// that ends in .gz or .zst is compressed.
func Create(format, path string, h trace.Header) (trace.Sink, error) {
	f, err := named(format)
	switch {
	case err != nil:
		return nil, err
	case f.Create == nil:
		return nil, fmt.Errorf("format: %s can be read but not written", format)
	case path == "-":
		return f.Write(os.Stdout, h)
	}
	return f.Create(path, h)
}

// named is the format of a name.
func named(name string) (*Format, error) {
	i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("format: found %q, expected one of %s", name, strings.Join(Names(), ", "))
	}
	return &all[i], nil
}

// choose is the format that was asked for, or the one that all inputs look like.
func choose(inputs []*trace.Input, asked string) (*Format, error) {
	if asked != "" && asked != Auto {
		return named(asked)
	}
	var chosen *Format
	var first *trace.Input
	for _, in := range inputs {
		f, err := recognise(in)
		switch {
		case err != nil:
			return nil, err
		case f == nil:
		case chosen == nil:
			chosen, first = f, in
		case chosen != f:
			return nil, fmt.Errorf("%s looks like %s and %s like %s, expected one format", first.Name(), chosen.Name, in.Name(), f.Name)
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("%s: %w", inputNames(inputs), trace.ErrNoRequests)
	}
	return chosen, nil
}

// recognise is the format that an input looks like, nil if there is nothing in it.
// If it looks like several, one whose name is in the file's name is it.
func recognise(in *trace.Input) (*Format, error) {
	head, err := in.Head()
	if err != nil || len(head) == 0 {
		return nil, err
	}
	var alike, inName []*Format
	for i := range all {
		if f := &all[i]; f.Sniff(head) {
			alike = append(alike, f)
			if strings.Contains(strings.ToLower(filepath.Base(in.Path())), f.Name) {
				inName = append(inName, f)
			}
		}
	}
	if len(inName) == 1 {
		alike = inName
	}
	switch len(alike) {
	case 1:
		return alike[0], nil
	case 0:
		var looks strings.Builder
		for _, f := range all {
			fmt.Fprintf(&looks, "\n  %s: %s", f.Name, f.Looks)
		}
		return nil, fmt.Errorf("%s: no known format; looked for%s", in.Name(), looks.String())
	}
	names := make([]string, len(alike))
	for i, f := range alike {
		names[i] = f.Name
	}
	return nil, fmt.Errorf("%s: looks like %s; say which (format)", in.Name(), strings.Join(names, " and like "))
}

func inputNames(inputs []*trace.Input) string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name()
	}
	return strings.Join(names, ", ")
}

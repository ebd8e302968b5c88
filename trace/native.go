package trace

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// Native is the name of Reprise's own format: a header line, then one node a line
// (DESIGN.md 4). All times in a file count from the trace's origin; a task is
// released at the earliest not_before_ms of its nodes that wait for nothing.
const Native = "native"

// The schema and the version that header lines name.
const (
	nativeSchema  = "reprise.trace"
	nativeVersion = 1
)

// What is expected of fields, as faults say it.
const (
	wantName    = "text in quotes, not empty"
	wantText    = "text in quotes"
	wantMs      = "milliseconds, 0 or more"
	wantCount   = "a whole number from 0 to 2147483647"
	wantTokenID = "a token id, from 0 to 4294967295"
	wantBlockID = "a block id, from 0 to 18446744073709551615"
	wantInt32   = "a whole number of 32 bits"
	wantBool    = "true or false"
)

// OpenNative checks files in the native format and makes a trace of them. Their
// headers have to agree, their sources aside.
func OpenNative(inputs []*Input) (Trace, error) {
	return OpenRows(inputs, &nativeFormat{heads: map[*Input]Header{}})
}

// SniffNative is whether head, the beginning of a file, looks like the native
// format.
func SniffNative(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	var s jsonrow.Scanner
	s.Reset(line)
	m := jsonrow.Members{Names: []string{"schema"}}
	s.Open()
	return s.Member(&m) && string(s.Text("")) == nativeSchema
}

// nativeFormat is the native format as the headers of the files describe it.
type nativeFormat struct {
	heads map[*Input]Header
	first *Input // whose header was read first
	// missing is what the headers say is missing in recordings.
	missing []string
}

func (f *nativeFormat) Name() string { return Native }

func (f *nativeFormat) NewReader() RowReader[nativeRow] {
	return &nativeReader{format: f, rowOf: map[string]int32{}, turns: map[string]int32{}}
}

// Begin reads the header of a file.
func (f *nativeFormat) Begin(first []byte, at Place) (bool, error) {
	var s jsonrow.Scanner
	s.Reset(first)
	h := readHeader(&s)
	if fault := s.Fault(); fault != nil {
		return false, &Refusal{Faults: []*Fault{at.Fault(fault.Field, fault.Value, fault.Want)}}
	}
	f.heads[at.File] = h
	if f.first == nil {
		f.first = at.File
	}
	if h.Incomplete != "" && !slices.Contains(f.missing, h.Incomplete) {
		f.missing = append(f.missing, h.Incomplete)
	}
	h.Source, h.Incomplete = f.heads[f.first].Source, f.heads[f.first].Incomplete
	if h != f.heads[f.first] {
		return false, fmt.Errorf("%v: the header differs from that of %s", at, f.first.Name())
	}
	return true, nil
}

var headerFields = []string{"schema", "version", "block_size", "ids", "ids_cover", "model", "tokenizer", "template", "source", "incomplete"}

// readHeader reads a header line.
func readHeader(s *jsonrow.Scanner) Header {
	h := Header{Format: Native}
	m := jsonrow.Members{Names: headerFields}
	for s.Open(); s.Member(&m); {
		switch m.Name {
		case "schema":
			if name := s.Text(nativeSchema); string(name) != nativeSchema {
				s.Fail("", jsonrow.Excerpt(name), nativeSchema)
			}
		case "version":
			if v := s.Count("a version"); v != nativeVersion {
				s.Fail("", fmt.Sprint(v), fmt.Sprintf("%d, the version this Reprise reads", nativeVersion))
			}
		case "block_size":
			h.BlockSize = int(s.Int(1, 1<<31-1, "a number of tokens above 0"))
		case "ids":
			h.IDs = word(s, IDsGlobal, IDsFile, IDsSession)
		case "ids_cover":
			h.IDsCover = word(s, CoverStarted, CoverFull)
		case "model":
			h.Model = string(s.Text(wantText))
		case "tokenizer":
			h.Tokenizer = string(s.Text(wantText))
		case "template":
			h.Template = string(s.Text(wantText))
		case "source":
			h.Source = readOrigin(s)
		case "incomplete":
			h.Incomplete = string(s.Text(wantText))
		}
	}
	s.Close()
	if !m.Has("schema") {
		s.Missing("schema", nativeSchema)
	}
	if !m.Has("version") {
		s.Missing("version", fmt.Sprint(nativeVersion))
	}
	return h
}

// readOrigin reads where a trace came from.
func readOrigin(s *jsonrow.Scanner) (o Origin) {
	m := jsonrow.Members{Names: []string{"format", "digest"}}
	for s.Open(); s.Member(&m); {
		switch m.Name {
		case "format":
			o.Format = string(s.Text(wantText))
		case "digest":
			o.Digest = string(s.Text(wantText))
		}
	}
	return o
}

// word reads one of the known words.
func word(s *jsonrow.Scanner, known ...string) string {
	want := fmt.Sprintf("one of %q", known)
	text := s.Text(want)
	for _, k := range known {
		if string(text) == k {
			return k
		}
	}
	s.Fail("", jsonrow.Excerpt(text), want)
	return ""
}

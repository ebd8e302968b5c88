package journal

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxLine bounds a line: the ids and the text of one call.
const maxLine = 1 << 30

// Journal is all that a recorder has written.
type Journal struct {
	Start   Start
	Entries []Entry // without the first line
	// Torn counts lines that are no entries: the last one, if the recorder was
	// stopped while it wrote it.
	Torn   int
	Digest string // "sha256:…" of the bytes
}

// Open reads the journal at path.
func Open(path string) (*Journal, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	j, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// Read reads a journal. Lines that are no entries are counted; only a first line that
// does not say what it is makes it fail.
func Read(r io.Reader) (*Journal, error) {
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(r, sum))
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	var j Journal
	for n := 1; lines.Scan(); n++ {
		e, ok := parse(lines.Bytes())
		switch {
		case n == 1 && (!ok || e.Start == nil || e.Start.Schema != Schema):
			return nil, fmt.Errorf("line 1: expected {\"start\":{\"schema\":%q, …", Schema)
		case n == 1 && e.Start.Version != Version:
			return nil, fmt.Errorf("line 1: version %d, expected %d", e.Start.Version, Version)
		case n == 1:
			j.Start = *e.Start
		case ok:
			j.Entries = append(j.Entries, e)
		default:
			j.Torn++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if j.Start.Schema == "" {
		return nil, fmt.Errorf("nothing, expected a journal")
	}
	j.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return &j, nil
}

// parse reads a line.
func parse(line []byte) (e Entry, ok bool) {
	if json.Unmarshal(line, &e) != nil {
		return e, false
	}
	n := 0
	for _, set := range []bool{e.Start != nil, e.Begin != nil, e.Call != nil, e.IDs != nil, e.Mark != nil, e.Lost != nil, e.End != nil} {
		if set {
			n++
		}
	}
	return e, n == 1
}

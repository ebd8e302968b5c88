package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/trace"
)

// TraceOf is what run.json says of a trace; several files are one trace.
func TraceOf(t trace.Trace) Trace {
	r := t.Report()
	info := Trace{Format: t.Header().Format, Digest: Digest(t), Rows: int64(r.Rows), Used: int64(r.Rows)}
	var names []string
	for _, f := range r.Files {
		names = append(names, filepath.Base(f.Path))
	}
	info.Path = strings.Join(names, ", ")
	for _, l := range r.LeftOut {
		if info.LeftOut == nil {
			info.LeftOut = map[string]int64{}
		}
		info.LeftOut[l.Reason] += int64(l.Rows)
		info.Used -= int64(l.Rows)
	}
	return info
}

// Digest is the digest of a trace's file or, if there are several, of their
// digests, one a line.
func Digest(t trace.Trace) string {
	files := t.Report().Files
	if len(files) == 1 {
		return files[0].Digest
	}
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintln(sum, f.Digest)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

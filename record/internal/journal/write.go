package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// file is what a Writer needs of a file.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Writer appends entries to a journal and keeps blobs in a second file. When the
// disk is full it drops what does not fit, counts it, and says so in the journal as
// soon as there is room again. It is safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	lines file
	size  int64 // of the whole lines
	blobs file
	blob  int64 // size of the blobs
	buf   bytes.Buffer
	lost  int // entries and blobs since the last one that was written
	total int // lost in all
	why   error
	// closed is whether the recording has ended: what comes now belongs to no one.
	closed bool
}

// BlobPath is the file beside a journal that holds what is no text.
func BlobPath(path string) string { return path + ".blobs" }

// Create starts a journal. It must not exist.
func Create(path string, start *Start) (*Writer, error) {
	lines, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	blobs, err := os.OpenFile(BlobPath(path), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, errors.Join(err, lines.Close(), os.Remove(path))
	}
	w := newWriter(lines, blobs)
	start.Schema, start.Version = Schema, Version
	if !w.Append(&Entry{Start: start}) {
		return nil, errors.Join(w.why, w.Close(), os.Remove(path), os.Remove(BlobPath(path)))
	}
	return w, nil
}

func newWriter(lines, blobs file) *Writer { return &Writer{lines: lines, blobs: blobs} }

// Append writes an entry, as a whole or not at all, and is whether it is written.
// Where one of secrets stands in it, stars are written.
func (w *Writer) Append(e *Entry, secrets ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.lost > 0 && w.write(&Entry{Lost: &Lost{Entries: w.lost, Why: w.why.Error()}}, nil) == nil {
		w.lost = 0
	}
	if w.lost == 0 && w.write(e, secrets) == nil {
		return true
	}
	w.lost++
	w.total++
	return false
}

// write writes a line at the end of the whole lines.
func (w *Writer) write(e *Entry, secrets []string) error {
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	if err == nil {
		hide(w.buf.Bytes(), secrets)
		_, err = w.lines.WriteAt(w.buf.Bytes(), w.size)
	}
	if err != nil {
		w.why = err
		_ = w.lines.Truncate(w.size) // else the reader drops the piece of a line
		return err
	}
	w.size += int64(w.buf.Len())
	return nil
}

// shortest is the length of the shortest text that is taken for a secret: shorter ones
// are words like "EMPTY", which servers without keys are given.
const shortest = 8

// hide puts stars over secrets in a line; a secret of digits becomes ones, so that the
// line stays JSON wherever they stand.
func hide(line []byte, secrets []string) {
	for _, s := range secrets {
		quoted, err := json.Marshal(s)
		if err != nil || len(s) < shortest {
			continue
		}
		mask := byte('*')
		if strings.Trim(s, "0123456789") == "" {
			mask = '1'
		}
		secret := quoted[1 : len(quoted)-1]
		for rest := line; ; {
			i := bytes.Index(rest, secret)
			if i < 0 {
				break
			}
			for j := range secret {
				rest[i+j] = mask
			}
			rest = rest[i+len(secret):]
		}
	}
}

// Blob stores bytes beside the journal and returns where.
func (w *Writer) Blob(b []byte) (offset int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, false
	}
	if _, err := w.blobs.WriteAt(b, w.blob); err != nil {
		w.why = err
		w.lost++
		w.total++
		_ = w.blobs.Truncate(w.blob)
		return 0, false
	}
	w.blob += int64(len(b))
	return w.blob - int64(len(b)), true
}

// Lost is how many entries could not be written, and why the last one could not.
func (w *Writer) Lost() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, w.why
}

// Close closes the files. Entries that are lost and not yet noted as lost make it
// fail.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	err := errors.Join(w.lines.Sync(), w.lines.Close(), w.blobs.Close())
	if w.lost > 0 {
		err = errors.Join(err, fmt.Errorf("journal: %d entries at its end are lost: %w", w.lost, w.why))
	}
	return err
}

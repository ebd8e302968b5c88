package linefile

import (
	"bufio"
	"bytes"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// File is a file that is open for reading. It stays open as long as it is in use.
type File struct {
	path     string
	stored   *os.File // the bytes as stored
	size     int64
	modified time.Time
	packing  packing
	unpacked *os.File // the plain bytes of a compressed file, nil before Unpack
	length   int64    // of unpacked
}

// packing is how a file is compressed.
type packing uint8

const (
	plain packing = iota
	gzipped
	zstandard
)

func (p packing) String() string { return [...]string{"plain", "gzip", "zstd"}[p] }

// Open opens a file. "-" is standard input. What cannot be read twice (standard
// input, a pipe) is copied into an unnamed temporary file.
func Open(path string) (*File, error) {
	if path == "-" {
		return spooled(path, os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: is a directory, expected a file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		defer f.Close()
		return spooled(path, f)
	}
	return opened(path, f)
}

// spooled is a file of everything that r still has.
func spooled(path string, r io.Reader) (*File, error) {
	f, err := temporary()
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", Name(path), err)
	}
	return opened(path, f)
}

func opened(path string, f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	file := &File{path: path, stored: f, size: info.Size(), modified: info.ModTime()}
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic[:n], []byte{0x1f, 0x8b}):
		file.packing = gzipped
	case bytes.HasPrefix(magic[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		file.packing = zstandard
	}
	return file, nil
}

// temporary is a file without a name, where the system allows that.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "reprise-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // a system that refuses cleans its temporary folder itself
	return f, nil
}

// Name is how messages call a path.
func Name(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// Path is the path the file was opened by.
func (f *File) Path() string { return f.path }

// Size is the number of bytes as stored.
func (f *File) Size() int64 { return f.size }

// Unchanged makes sure that the file is still what it was when it was opened.
func (f *File) Unchanged() error {
	info, err := f.stored.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.size || !info.ModTime().Equal(f.modified) {
		return fmt.Errorf("%s: the file has changed since it was opened", Name(f.path))
	}
	return nil
}

// Read reads the plain bytes from the start. If sum is not nil, all bytes as
// stored have been written to it when the reader is at its end. Several readers
// may be in use at once.
func (f *File) Read(sum hash.Hash) (io.ReadCloser, error) {
	if f.unpacked != nil && sum == nil {
		return io.NopCloser(io.NewSectionReader(f.unpacked, 0, f.length)), nil
	}
	var stored io.Reader = io.NewSectionReader(f.stored, 0, f.size)
	if sum != nil {
		stored = io.TeeReader(stored, sum)
	}
	if f.packing == plain {
		return io.NopCloser(stored), nil
	}
	r, err := unpack(bufio.NewReaderSize(stored, 1<<16), f.packing)
	if err != nil {
		return nil, fmt.Errorf("%s: unpacking %v: %w", Name(f.path), f.packing, err)
	}
	return &unpacker{ReadCloser: r, packing: f.packing, rest: stored}, nil
}

// unpack decompresses r.
func unpack(r io.Reader, p packing) (io.ReadCloser, error) {
	if p == gzipped {
		return gzip.NewReader(r)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// unpacker reads what is stored to its end, also what the decompressor leaves.
type unpacker struct {
	io.ReadCloser
	packing packing
	rest    io.Reader
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		if _, err := io.Copy(io.Discard, u.rest); err != nil {
			return n, err
		}
	case err != nil:
		err = fmt.Errorf("unpacking %v: %w", u.packing, err)
	}
	return n, err
}

// Unpack makes lines readable at offsets: a compressed file is unpacked.
func (f *File) Unpack() error {
	if f.packing == plain || f.unpacked != nil {
		return nil
	}
	r, err := f.Read(nil)
	if err != nil {
		return err
	}
	defer r.Close()
	t, err := temporary()
	if err != nil {
		return err
	}
	n, err := io.Copy(t, r)
	if err != nil {
		t.Close()
		return fmt.Errorf("%s: %w", Name(f.path), err)
	}
	f.unpacked, f.length = t, n
	return nil
}

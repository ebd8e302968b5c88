package linefile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Output is a file that is being written. It has its name only when it has been
// closed; a name that ends in .gz or .zst means that it is compressed.
type Output struct {
	path   string
	f      *os.File
	packed io.WriteCloser // nil if plain
	w      *bufio.Writer
	done   bool
}

// Create starts a file. An existing one of that name is replaced at the end.
func Create(path string) (*Output, error) {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid()))
	o := &Output{path: path}
	f, err := os.OpenFile(hidden, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, o.named(err)
	}
	o.f = f
	switch {
	case strings.HasSuffix(path, ".gz"):
		o.packed = gzip.NewWriter(f)
	case strings.HasSuffix(path, ".zst"):
		if o.packed, err = zstd.NewWriter(f, zstd.WithEncoderConcurrency(1)); err != nil {
			f.Close()
			return nil, errors.Join(err, os.Remove(hidden))
		}
	}
	if o.packed != nil {
		o.w = bufio.NewWriterSize(o.packed, 1<<16)
	} else {
		o.w = bufio.NewWriterSize(f, 1<<16)
	}
	return o, nil
}

// Write appends to the file.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	return n, o.named(err)
}

// named is an error of the file system with the name that the file is to have.
func (o *Output) named(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return &fs.PathError{Op: in.Op, Path: o.path, Err: in.Err}
	}
	return err
}

// Close completes the file and gives it its name. If that fails, nothing is left.
func (o *Output) Close() error {
	if o.done {
		return nil
	}
	err := o.w.Flush()
	if err == nil && o.packed != nil {
		err = o.packed.Close()
	}
	if err != nil {
		return errors.Join(o.named(err), o.Abort())
	}
	o.done = true
	if err = o.f.Close(); err == nil {
		err = os.Rename(o.f.Name(), o.path)
	}
	if err != nil {
		return errors.Join(o.named(err), os.Remove(o.f.Name()))
	}
	return nil
}

// Abort drops what has been written. After Close it does nothing.
func (o *Output) Abort() error {
	if o.done {
		return nil
	}
	o.done = true
	return errors.Join(o.f.Close(), os.Remove(o.f.Name()))
}

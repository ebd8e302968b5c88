package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file of a [Draft]. It is buffered; its first error stays and names the
// file. Only one goroutine may write.
type File struct {
	path      string // it will have
	temporary string // path it has; "" once it has its name
	file      *os.File
	buffer    *bufio.Writer
	err       error
}

// newFile makes a file under a temporary name in the same folder.
func newFile(dir, name string) (*File, error) {
	for i := 0; ; i++ {
		temporary := filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", name, i))
		file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case errors.Is(err, os.ErrExist):
			continue
		case err != nil:
			return nil, err
		}
		f := &File{path: filepath.Join(dir, name), temporary: temporary, file: file}
		f.buffer = bufio.NewWriterSize(file, 1<<16)
		return f, nil
	}
}

// Write implements [io.Writer].
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.buffer.Write(p)
	f.fail(err)
	return n, f.err
}

// fail keeps the first error.
func (f *File) fail(err error) {
	if err == nil || f.err != nil {
		return
	}
	var in *fs.PathError
	if errors.As(err, &in) { // it names the temporary file
		err = fmt.Errorf("%s: %w", in.Op, in.Err)
	}
	f.err = fmt.Errorf("%s: %w", f.path, err)
}

// close completes the file under its temporary name.
func (f *File) close() error {
	f.fail(f.buffer.Flush())
	f.fail(f.file.Close())
	return f.err
}

// rename gives the file its name.
func (f *File) rename() error {
	if err := os.Rename(f.temporary, f.path); err != nil {
		return err
	}
	f.temporary = ""
	return nil
}

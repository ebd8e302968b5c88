package column

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// ErrStorage is wrapped by errors of the temporary file: samples are lost, so no
// question about them can be answered any more.
var ErrStorage = errors.New("resource limited: samples could not be kept in a temporary file")

// Spill is a temporary file for the full pages of columns. The file is made when
// the first page comes and has no name from then on, so it vanishes with the
// process however that ends. A Spill is not safe for concurrent use.
type Spill struct {
	dir     string
	file    *os.File
	name    string // of the file, on systems where an open file keeps its name
	size    int64
	pageLen int // PageLen but in tests
}

// NewSpill returns a spill whose file will lie in dir; "" is the system's place
// for temporary files.
func NewSpill(dir string) *Spill { return &Spill{dir: dir, pageLen: PageLen} }

// Close gives the space back. Columns that have spilled cannot be read any more.
func (s *Spill) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	s.file = nil
	return err
}

// write puts items at the end of the file and returns where they begin.
func write[T float64 | run](s *Spill, items []T) (offset int64, err error) {
	if s.file == nil {
		err = s.open()
	}
	offset, raw := s.size, memory(items)
	if err == nil {
		_, err = s.file.WriteAt(raw, offset)
	}
	if err != nil {
		return 0, fmt.Errorf("%w after %d bytes: %w", ErrStorage, s.size, err)
	}
	s.size += int64(len(raw))
	return offset, nil
}

// read fills items with what was written at offset.
func read[T float64 | run](s *Spill, offset int64, items []T) error {
	if _, err := s.file.ReadAt(memory(items), offset); err != nil {
		return fmt.Errorf("%w: reading back: %w", ErrStorage, err)
	}
	return nil
}

// open makes the file.
func (s *Spill) open() error {
	f, err := os.CreateTemp(s.dir, "reprise-samples-*")
	if err != nil {
		return err
	}
	if os.Remove(f.Name()) != nil {
		s.name = f.Name()
	}
	s.file = f
	return nil
}

// memory is the bytes that items, of which there is at least one, lie in. Nobody
// but this process reads the file, so they need no conversion.
func memory[T float64 | run](items []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&items[0])), len(items)*int(unsafe.Sizeof(items[0])))
}

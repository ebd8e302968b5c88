package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace/internal/linefile"
)

// Input is a file that has been opened and not yet been checked: plain or
// compressed (gzip, zstd; recognised by content). It stays open as long as it or a
// trace made of it is in use.
type Input struct {
	file   *linefile.File
	number int    // among the files of its trace, from 0
	digest string // "sha256:…", known when the file has been checked
	scope  uint64 // identity of the file's content, known with the digest
	first  int64  // offset of the first row, behind a header
}

// OpenInput opens a file. "-" is standard input.
func OpenInput(path string) (*Input, error) {
	f, err := linefile.Open(path)
	if err != nil {
		return nil, err
	}
	return &Input{file: f}, nil
}

// OpenInputs opens several files.
func OpenInputs(paths ...string) ([]*Input, error) {
	var inputs []*Input
	for _, path := range paths {
		in, err := OpenInput(path)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// Path is the path the input was opened by.
func (in *Input) Path() string { return in.file.Path() }

// Name is how messages call the input.
func (in *Input) Name() string { return linefile.Name(in.file.Path()) }

// headSize is how much of a file is looked at to find its format.
const headSize = 1 << 20

// Head is the beginning of the input, unpacked, without a byte order mark and blank
// lines in front. It is empty only if there is nothing else.
func (in *Input) Head() ([]byte, error) {
	r, err := in.file.Read(nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for b := bufio.NewReaderSize(r, headSize); ; {
		head, err := b.Peek(headSize)
		if err != nil && err != io.EOF && len(head) == 0 { // else the check will name the line
			return nil, fmt.Errorf("%s: %w", in.Name(), err)
		}
		rest := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), "\r\n\t ")
		if len(rest) > 0 || len(head) == 0 {
			return rest, nil
		}
		if _, err := b.Discard(len(head)); err != nil {
			return nil, err
		}
	}
}

// Scope is the identity of the file's content: its digest, never its name. It is
// the scope of ids that are valid inside the file only.
func (in *Input) Scope() uint64 { return in.scope }

// checked notes the digest of the file's bytes.
func (in *Input) checked(digest string) {
	in.digest = digest
	in.scope = token.Identity(digest)
}

package linefile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// write makes a file of the given plain content, packed by its name.
func write(t interface{ Fatal(...any) }, path, content string) {
	o, err := Create(path)
	if err == nil {
		_, err = io.WriteString(o, content)
	}
	if err == nil {
		err = o.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lines reads all lines of a file.
func lines(t interface{ Fatal(...any) }, f *File) (all []Line) {
	r, err := f.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for l := NewLines(r); ; {
		line, err := l.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Text = bytes.Clone(line.Text)
		all = append(all, line)
	}
}

func TestLineEndsAndMarksDoNotMatter(t *testing.T) {
	for name, content := range map[string]string{
		"plain":             "a\nb\nc\n",
		"no final line end": "a\nb\nc",
		"carriage returns":  "a\r\nb\r\nc\r\n",
		"byte order mark":   "\xef\xbb\xbfa\nb\nc\n",
		"blank lines":       "a\nb\nc\n\n \t\n\r\n",
	} {
		var got []string
		for l := NewLines(strings.NewReader(content)); ; {
			line, err := l.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line.Text))
			if want := int32(len(got)); line.Number != want {
				t.Errorf("%s: line %d has number %d", name, want, line.Number)
			}
		}
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%s: lines %q", name, got)
		}
	}
}

func TestBlankLinesAreCounted(t *testing.T) {
	l := NewLines(strings.NewReader("\n\na\n\n  \nb"))
	a, _ := l.Next()
	b, _ := l.Next()
	if a.Number != 3 || b.Number != 6 {
		t.Errorf("numbers %d and %d, want 3 and 6", a.Number, b.Number)
	}
}

func TestReadErrorsArePassedOn(t *testing.T) {
	broken := errors.New("broken")
	l := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if _, err := l.Next(); err != nil {
		t.Fatal(err)
	}
	if line, err := l.Next(); err != broken {
		t.Errorf("line %q, error %v: half a line was taken for one", line.Text, err)
	}
}

// However a file is packed, its lines, their offsets and its digest are right.
func TestPackingDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z]{1,5}(\r?\n){1,2}`)
		parts := rapid.SliceOfN(text, 0, 50).Draw(t, "parts")
		long := strings.Repeat("x", rapid.SampledFrom([]int{0, 10, maxWindow, 3 << 17}).Draw(t, "long"))
		content := strings.Join(parts, "") + long
		var plain []Line
		for _, name := range []string{"t.jsonl", "t.jsonl.gz", "t.jsonl.zst"} {
			path := filepath.Join(dir, name)
			write(t, path, content)
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			got := lines(t, f)
			if name == "t.jsonl" {
				plain = got
			}
			if !slices.EqualFunc(got, plain, func(a, b Line) bool {
				return string(a.Text) == string(b.Text) && a.Number == b.Number && a.Offset == b.Offset
			}) {
				t.Fatalf("%s: lines %v, plain %v", name, got, plain)
			}
			checkOffsets(t, f, got)
			checkDigest(t, f, path)
		}
	})
}

func checkOffsets(t *rapid.T, f *File, all []Line) {
	if err := f.Unpack(); err != nil {
		t.Fatal(err)
	}
	w := f.Window()
	order := rapid.Permutation(all).Draw(t, "order")
	for _, line := range order {
		if got, err := w.Line(line.Offset); err != nil || string(got) != string(line.Text) {
			t.Fatalf("at %d: %q, %v; want %q", line.Offset, got, err, line.Text)
		}
	}
}

func checkDigest(t *rapid.T, f *File, path string) {
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	r, err := f.Read(sum)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(stored); !bytes.Equal(sum.Sum(nil), want[:]) || f.Size() != int64(len(stored)) {
		t.Fatalf("digest or size of %d stored bytes is wrong", len(stored))
	}
}

func TestContentDecidesNotTheName(t *testing.T) {
	dir := t.TempDir()
	packed := filepath.Join(dir, "a.gz")
	write(t, packed, "a\n")
	named := filepath.Join(dir, "a.jsonl")
	if err := os.Rename(packed, named); err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(dir, "b.zst")
	if err := os.WriteFile(unpacked, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{named, unpacked} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(t, f); len(got) != 1 || string(got[0].Text) != "a" {
			t.Errorf("%s: lines %v", path, got)
		}
	}
}

func TestACutArchiveIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gz")
	write(t, path, strings.Repeat("abc\n", 1000))
	stored, _ := os.ReadFile(path)
	if err := os.WriteFile(path, stored[:len(stored)-9], 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(io.Discard, r); err == nil {
		t.Error("half an archive is read without an error")
	}
	if err := f.Unpack(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestStandardInputCanBeReadTwice(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin }()
	go func() {
		defer w.Close()
		_, _ = io.WriteString(w, "a\nb\n")
	}()
	f, err := Open("-")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := lines(t, f); len(got) != 2 {
			t.Errorf("lines %v", got)
		}
	}
}

func TestChangedFilesAreNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "a\n")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("a\nb\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if f.Unchanged() == nil {
		t.Error("a file that grew is called unchanged")
	}
}

func TestOutputsAppearCompleteOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	write(t, path, "old")
	o, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(o, "new"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("before Close the file is %q", got)
	}
	if err := o.Abort(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("after Abort the file is %q", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left, want 1", len(left))
	}
}

func TestErrorsOfOutputsNameTheFileThatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nowhere", "t.jsonl")
	if _, err := Create(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"t.jsonl", "t.jsonl.gz", "t.jsonl.zst"} {
		path := filepath.Join(dir, name)
		o, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		o.f.Close()
		io.WriteString(o, "a line")
		want := "write " + path + ": file already closed"
		if err := o.Close(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestFoldersAreRefused(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("error %v", err)
	}
}

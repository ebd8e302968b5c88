package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moduleRoot is where relative folders start.
const moduleRoot = ".."

// indexes lists the index.json files of the bundled set and of REPRISE_ORACLE.
func indexes(t testing.TB) []string {
	t.Helper()
	roots := []string{filepath.Join(moduleRoot, "testdata", "oracle")}
	if dir := os.Getenv("REPRISE_ORACLE"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(moduleRoot, dir)
		}
		roots = append(roots, dir)
	}
	var found []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "index.json" {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// eachCase runs every case of the indexes that decode accepts, as a subtest by
// its name. Cases are the objects of the index, which is a list or has a list
// under "cases"; engine names what made them, in a plain list its folder.
func eachCase(t *testing.T, run func(t *testing.T, dir string, raw json.RawMessage), accepts func(engine string) bool) {
	seen := 0
	for _, index := range indexes(t) {
		data, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Engine string            `json:"engine"`
			Cases  []json.RawMessage `json:"cases"`
		}
		if err := json.Unmarshal(data, &set); err != nil {
			if err := json.Unmarshal(data, &set.Cases); err != nil {
				t.Fatalf("%s: %v", index, err)
			}
			set.Engine = filepath.Base(filepath.Dir(index))
		}
		if !accepts(set.Engine) {
			continue
		}
		for _, raw := range set.Cases {
			var c struct{ Name string }
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatalf("%s: %v", index, err)
			}
			seen++
			t.Run(c.Name, func(t *testing.T) { run(t, filepath.Dir(index), raw) })
		}
	}
	if seen == 0 {
		t.Fatal("no case found")
	}
}

// readFile reads a file of a case, gzipped or not, with or without the suffix.
func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return plain
}

// readLines decodes a file of JSON lines.
func readLines[T any](t testing.TB, dir, name string) []T {
	t.Helper()
	var out []T
	lines := bufio.NewScanner(bytes.NewReader(readFile(t, dir, name)))
	lines.Buffer(nil, 1<<26)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s line %d: %v", name, n, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

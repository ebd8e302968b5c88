// Package docs_test checks what the pages say about the code.
package docs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
)

const module = "github.com/reprise-sim/reprise/"

// floors reads the table of architecture.md: the floor of each room.
func floors(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := regexp.MustCompile("^\\| (\\d+) \\| ([`a-z0-9, ]+) \\|")
	floors := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if m := row.FindStringSubmatch(lines.Text()); m != nil {
			floor, _ := strconv.Atoi(m[1])
			for _, room := range strings.Split(m[2], ", ") {
				floors[strings.Trim(room, "`")] = floor
			}
		}
	}
	return floors
}

// room is the top folder of a path inside the module.
func room(path string) string {
	top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	return top
}

// A package imports only from lower floors, its own room aside. Tests may look
// around.
func TestImportsGoDownstairs(t *testing.T) {
	floors := floors(t)
	if len(floors) < 10 {
		t.Fatalf("the table has %d rooms", len(floors))
	}
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel("..", path)
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && inside != "." || d.Name() == "scratch" || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		seen++
		from, ok := floors[room(inside)]
		if !ok {
			t.Errorf("%s: the table has no room %s", inside, room(inside))
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
			if ours && room(imported) != room(inside) && floors[room(imported)] >= from {
				t.Errorf("%s on floor %d imports %s on floor %d", inside, from, imported, floors[room(imported)])
			}
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Fatalf("%d files, %v", seen, err)
	}
}

// page reads a page.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryReasonIsExplained(t *testing.T) {
	text := page(t, "outputs.md")
	for _, reason := range metrics.Reasons() {
		if !regexp.MustCompile("\\| `[^|]*\\b" + reason + "\\b[^|]*\\|").MatchString(text) {
			t.Errorf("outputs.md does not explain %s", reason)
		}
	}
}

// example is the folder of a run.
func example(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	c, err := config.Load(config.Sources{File: "../examples/mooncake.yaml", Out: dir, Set: []string{"limits.requests=5"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Prepare(context.Background(), c, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEveryColumnIsExplained(t *testing.T) {
	text, dir := page(t, "outputs.md"), example(t)
	for _, file := range []string{rundir.RequestsFile, rundir.SamplesFile} {
		header, _, _ := strings.Cut(page(t, filepath.Join(dir, file)), "\n")
		for _, column := range strings.Split(header, ",") {
			if !strings.Contains(text, "`"+column+"`") {
				t.Errorf("outputs.md does not explain the column %s of %s", column, file)
			}
		}
	}
}

func TestEveryColumnOfALiveRunIsExplained(t *testing.T) {
	text := page(t, "outputs.md")
	for _, column := range rundir.LiveColumns() {
		if !strings.Contains(text, "`"+column+"`") {
			t.Errorf("outputs.md does not explain the column %s", column)
		}
	}
}

// Every key of the summary stands in the page, those that come in families by what
// they have in common.
func TestEveryFigureIsExplained(t *testing.T) {
	text := page(t, "outputs.md")
	known, families := map[string]bool{}, []string{}
	for _, m := range regexp.MustCompile("`([a-z0-9_…]+)`").FindAllStringSubmatch(text, -1) {
		known[m[1]] = true
		if family := strings.Trim(m[1], "…"); family != m[1] && len(family) > 3 {
			families = append(families, strings.TrimSuffix(family, "_ms"))
		}
	}
	var summary any
	if err := json.Unmarshal([]byte(page(t, filepath.Join(example(t), rundir.SummaryFile))), &summary); err != nil {
		t.Fatal(err)
	}
	for _, key := range keysOf(summary) {
		if !known[key] && !slices.ContainsFunc(families, func(f string) bool { return strings.Contains(key, f) }) {
			t.Errorf("outputs.md does not explain %s", key)
		}
	}
}

// keysOf are the keys of a JSON value and of all in it.
func keysOf(value any) (all []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inside := range value {
			all = append(append(all, key), keysOf(inside)...)
		}
	case []any:
		for _, inside := range value {
			all = append(all, keysOf(inside)...)
		}
	}
	return all
}

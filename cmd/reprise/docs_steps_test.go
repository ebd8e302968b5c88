package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// step is a command line.
type step struct {
	line   string
	shown  bool // what it prints stands behind it
	prints string
}

// stepsOf are the commands of a page. A block of text right behind a block of
// commands is what the last of them prints.
func stepsOf(t *testing.T, page, text string, isTarget func(string) bool) (steps []step) {
	t.Helper()
	for _, part := range strings.Split(text, "\n```sh\n")[1:] {
		block, rest, _ := strings.Cut(part, "\n```\n")
		for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", ""), "\n") {
			line = strings.Replace(line, "go run ./cmd/reprise ", "reprise ", 1)
			target, isMake := strings.CutPrefix(line, "make ")
			switch {
			case strings.HasPrefix(line, "reprise ") || strings.HasPrefix(line, "awk "):
				steps = append(steps, step{line: line})
			case !isMake || !isTarget(target):
				t.Errorf("%s: nobody knows how to check %q", page, line)
			}
		}
		if shown, ok := strings.CutPrefix(rest, "\n```text\n"); ok && len(steps) > 0 {
			last := &steps[len(steps)-1]
			last.prints, _, last.shown = strings.Cut(shown, "\n```\n")
		}
	}
	return steps
}

// withPrints is a page on which the steps print something else.
func withPrints(text string, steps []step, prints []string) string {
	for i, s := range steps {
		if s.shown {
			text = strings.Replace(text, "```text\n"+s.prints+"\n```\n", "```text\n"+prints[i]+"\n```\n", 1)
		}
	}
	return text
}

// script is steps as a script; what they print stands in files behind it.
func script(steps []step) *txtar.Archive {
	var commands strings.Builder
	a := &txtar.Archive{}
	for i, s := range steps {
		line, _, _ := strings.Cut(strings.ReplaceAll(s.line, shownServer, "$SERVER"), " > ")
		if strings.Contains(line, " | ") {
			line = "sh -c '" + strings.ReplaceAll(line, "'", "''") + "'"
		}
		fmt.Fprintf(&commands, "exec %s\n", line)
		if s.shown {
			name := fmt.Sprint("want-", i)
			fmt.Fprintf(&commands, "cmp stdout %s\n", name)
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(s.prints + "\n")})
		}
	}
	a.Comment = []byte(commands.String())
	return a
}

// runAll runs steps one after the other beside the examples. It returns what they
// print, which with -update need not be what they should; "" of those that do not
// show it.
func runAll(t *testing.T, name string, steps []step) (prints []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "commands.txtar")
	if err := os.WriteFile(file, txtar.Format(script(steps)), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Run(name, func(t *testing.T) {
		testscript.Run(t, testscript.Params{Files: []string{file}, RequireExplicitExec: true, Setup: withData, UpdateScripts: *update})
	})
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prints = make([]string, len(steps))
	for i := range steps {
		for _, f := range a.Files {
			if f.Name == fmt.Sprint("want-", i) {
				prints[i] = strings.TrimSuffix(string(f.Data), "\n")
			}
		}
	}
	return prints
}

// withData puts the examples and the whole conversation trace where a checkout has
// them.
func withData(env *testscript.Env) error {
	data, err := filepath.Abs("../../bench/testdata")
	if err != nil {
		return err
	}
	bench := filepath.Join(env.WorkDir, "bench")
	return errors.Join(withServer(env), withExamples(env), os.Mkdir(bench, 0o777), os.Symlink(data, filepath.Join(bench, "testdata")))
}

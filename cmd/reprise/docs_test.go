package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config"
)

var update = flag.Bool("update", false, "write pages that are generated")

//go:generate go test -run ^(TestThePageOfCommandsHasThemAll|TestCommandsOfThePagesRun)$ -update

// pages are the pages that people read.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(list) == 0 {
		t.Fatal("no pages: ", err)
	}
	return append(list, "../../README.md", "../../examples/README.md")
}

// blocks are the fenced blocks of a language in a page.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, part := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		found = append(found, block)
	}
	return found
}

// Every command that a page shows works as it stands, and prints what the page shows
// behind it.
func TestCommandsOfThePagesRun(t *testing.T) {
	if raceDetector() {
		t.Skip("the study of buckets takes a minute with it")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	isTarget := func(name string) bool { return bytes.Contains(makefile, []byte("\n"+name+":")) }
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps := stepsOf(t, page, string(text), isTarget)
		if steps == nil {
			continue
		}
		prints := runAll(t, filepath.Base(filepath.Dir(page))+"-"+filepath.Base(page), steps)
		if now := withPrints(string(text), steps, prints); *update && now != string(text) {
			if err := os.WriteFile(page, []byte(now), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The table in README.md is what the command above it prints.
func TestTheReadmeShowsWhatTheMainJobPrints(t *testing.T) {
	want := "\n" + strings.Join(blocks(t, "../../README.md", "text"), "\n") + "\n"
	t.Chdir("../..")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"simulate", "examples/mooncake.yaml"}, nil, &stdout, &stderr); code != succeeded {
		t.Fatal(code, stderr.String())
	}
	if got := "\n" + stdout.String(); got != want {
		t.Errorf("the program prints%swant%s", got, want)
	}
}

// Every configuration that a page shows is one.
func TestConfigurationsOfThePagesLoad(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for _, block := range blocks(t, page, "yaml") {
			seen++
			file := filepath.Join(t.TempDir(), "shown.yaml")
			if err := os.WriteFile(file, []byte(block), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(config.Sources{File: file}); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
			}
		}
	}
	if seen == 0 {
		t.Error("the pages show no configuration")
	}
}

// Every example of a command's help works, those of one command in order.
func TestExamplesOfTheHelpRun(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		var steps []step
		for line := range strings.Lines(cmd.Example) {
			steps = append(steps, step{line: strings.TrimSpace(line)})
		}
		if steps != nil {
			runAll(t, strings.ReplaceAll(cmd.CommandPath(), " ", "-"), steps)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

// Every command is on the page of commands.
func TestThePageOfCommandsHasThemAll(t *testing.T) {
	const file = "../../docs/commands.md"
	want := reference(newRoot())
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Error("docs/commands.md is not what the commands say: run make docs")
	}
}

// reference is docs/commands.md: the help of every command.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Generated from the commands by \"make docs\"; edit their texts instead. -->\n\n")
	b.WriteString("What a command finds out goes to standard output, what it has to tell a person to standard error.\n")
	b.WriteString("Exit codes: 0 success; 1 the run failed; 2 bad command line, configuration or trace; 130 interrupted.\n")
	describe(&b, root)
	return b.String()
}

// describe writes the help of a command that does something, and of those below it.
func describe(b *strings.Builder, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if !sub.HasSubCommands() || sub.HasLocalFlags() {
			text := sub.Long
			if text == "" {
				text = sub.Short + "."
			}
			fmt.Fprintf(b, "\n## %s\n\n```text\n%s\n\n%s```\n", sub.CommandPath(), text, sub.UsageString())
		}
		describe(b, sub)
	}
}

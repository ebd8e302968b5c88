package formats_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
)

const (
	native   = `{"schema":"reprise.trace","version":1}` + "\n" + `{"id":"a","kind":"llm","input":{"length":5},"output":{"length":3}}` + "\n"
	mooncake = `{"timestamp": 0, "input_length": 5, "output_length": 3, "hash_ids": [1]}` + "\n"
)

func TestContentDecides(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", native, "native"},
		{"mooncake.jsonl", native, "native"},
		{"a.jsonl", mooncake, "mooncake"},
		{"native.csv", mooncake, "mooncake"},
		{"a.jsonl", "\xef\xbb\xbf\r\n\n" + mooncake, "mooncake"},
		{"a.jsonl", strings.Repeat(" \n", 100_000) + native, "native"},
	} {
		tr, err := formats.Open([]string{tracetest.File(t, c.name, c.content)}, formats.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if tr.Header().Format != c.want {
			t.Errorf("%s: %s, want %s", c.name, tr.Header().Format, c.want)
		}
		tracetest.Check(t, tr)
	}
}

// Case 8 of the public reports: an empty file and three empty lines are the same.
func TestNothingIsNoRequests(t *testing.T) {
	var messages []string
	for _, content := range []string{"", "\n\n\n", "\xef\xbb\xbf", " \r\n", `{"schema":"reprise.trace","version":1}`} {
		for _, format := range []string{"", "mooncake", "native"} {
			if strings.Contains(content, "schema") && format == "mooncake" {
				continue
			}
			path := tracetest.File(t, "a.jsonl", content)
			_, err := formats.Open([]string{path}, formats.Options{Format: format})
			if !errors.Is(err, trace.ErrNoRequests) {
				t.Errorf("%q as %q: %v", content, format, err)
				continue
			}
			messages = append(messages, strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", ""))
		}
	}
	if messages = slices.Compact(messages); !slices.Equal(messages, []string{"a.jsonl: no requests"}) {
		t.Errorf("messages %q", messages)
	}
}

func TestUnclearContentAndSettingsAreRefused(t *testing.T) {
	for _, c := range []struct {
		contents []string
		o        formats.Options
		want     string
	}{
		{nil, formats.Options{}, "path: found nothing, expected a file"},
		{[]string{"a,b,c\n1,2,3\n"}, formats.Options{}, "a.jsonl: no known format; looked for\n" +
			"  mooncake: a row with output_length and input_length or hash_ids\n" +
			`  native: a first line {"schema":"reprise.trace", …}`},
		{[]string{mooncake, native}, formats.Options{}, "a.jsonl looks like mooncake and b.jsonl like native, expected one format"},
		{[]string{mooncake}, formats.Options{Format: "moonlight"}, `format: found "moonlight", expected one of mooncake, native`},
		{[]string{mooncake}, formats.Options{Format: "native"}, "1 bad row:\n  a.jsonl:1: schema: found nothing, expected reprise.trace"},
		{[]string{mooncake}, formats.Options{BlockSize: -1}, "block_size: found -1, expected a number of tokens above 0"},
		{[]string{native}, formats.Options{BlockSize: 16}, "block_size: 16: want nothing: the header of a native trace says it"},
		{[]string{native}, formats.Options{IDs: "file"}, "ids: file: want nothing: the header of a native trace says it"},
		{[]string{native}, formats.Options{IDsCover: "full"}, "ids_cover: full: want nothing: the header of a native trace says it"},
	} {
		dir := t.TempDir()
		var paths []string
		for i, content := range c.contents {
			path := filepath.Join(dir, fmt.Sprintf("%c.jsonl", 'a'+i))
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		_, err := formats.Open(paths, c.o)
		if got := strings.ReplaceAll(fmt.Sprint(err), dir+"/", ""); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestAMissingFileIsNamed(t *testing.T) {
	if _, err := formats.Open([]string{"nowhere.jsonl"}, formats.Options{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nowhere.jsonl") {
		t.Errorf("error %v", err)
	}
}

func TestATraceIsWrittenInEveryFormat(t *testing.T) {
	tr, err := formats.Open([]string{"../mooncake/testdata/synthetic_head.jsonl.gz"}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := tracetest.Tasks(t, tr)
	for _, name := range formats.Names() {
		src, err := tr.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.jsonl.zst")
		sink, err := formats.Create(name, path, tr.Header())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Save(sink, trace.Slice(src, 0, 50)); err != nil {
			t.Fatal(err)
		}
		back, err := formats.Open([]string{path}, formats.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tracetest.Story(tracetest.Tasks(t, back)), tracetest.Story(want[:50]); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if _, err := formats.Create("moonlight", "x", trace.Header{}); err == nil {
		t.Error("an unknown format is written")
	}
}

func ExampleOpen() {
	tr, err := formats.Open([]string{"../mooncake/testdata/conversation_head.jsonl.gz"}, formats.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := tr.Report()
	fmt.Printf("%s: %d requests within %.0f s, ids of %d tokens\n", tr.Header().Format, r.Calls, r.LastMs/1000, tr.Header().BlockSize)
	// Output: mooncake: 400 requests within 141 s, ids of 512 tokens
}

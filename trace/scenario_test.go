package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/linefile"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
)

// TestScenarios tells what is made of files in the native format. The commands:
//
//	load
//	{"schema":"reprise.trace","version":1}
//	{"id":"a","kind":"llm","input":{"length":5},"output":{"length":1}}
//	==
//	{"schema":"reprise.trace","version":1}
//
// opens the files, which a line of two equals signs separates, and tells the report
// and all tasks, or why they are refused;
//
//	write
//
// opens files, writes the tasks and shows what is written.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			dir := t.TempDir()
			tr, err := open(t, dir, strings.Split(d.Input, "==\n")...)
			if err != nil {
				return "refused: " + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n"
			}
			tracetest.Check(t, tr)
			switch d.Cmd {
			case "load":
				return tracetest.Report(tr.Report()) + tracetest.Story(tracetest.Tasks(t, tr))
			case "write":
				text, err := written(t, tr)
				if err != nil {
					return "refused: " + err.Error() + "\n"
				}
				return string(text)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// open opens files of the given contents, a.jsonl, b.jsonl and so on.
func open(t testing.TB, dir string, contents ...string) (trace.Trace, error) {
	t.Helper()
	var paths []string
	for i, content := range contents {
		path := filepath.Join(dir, fmt.Sprintf("%c.jsonl", 'a'+i))
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	inputs, err := trace.OpenInputs(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return trace.OpenNative(inputs)
}

// written is a trace in the native format.
func written(t testing.TB, tr trace.Trace) ([]byte, error) {
	t.Helper()
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, tr.Header())
	if err != nil {
		t.Fatal(err)
	}
	_, err = trace.Save(w, src)
	return b.Bytes(), err
}

// pack writes a file, compressed by its name.
func pack(t testing.TB, path, content string) {
	t.Helper()
	o, err := linefile.Create(path)
	if err == nil {
		_, err = o.Write([]byte(content))
	}
	if err == nil {
		err = o.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

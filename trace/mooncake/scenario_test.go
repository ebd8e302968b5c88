package mooncake_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
	"github.com/reprise-sim/reprise/trace/mooncake"
)

// TestScenarios tells what is made of rows. The commands:
//
//	load [block=16] [ids=file] [cover=full]
//	{"timestamp":0,"input_length":100,"output_length":3}
//	==
//	{"timestamp":5,"input_length":100,"output_length":3}
//
// opens the rows, in two files if a line of two equals signs stands between them,
// and tells the report and all tasks, or why the files are refused;
//
//	write [block=16] [ids=file] [cover=full]
//
// opens rows, writes the tasks in Mooncake's format and shows the file, or why the
// format cannot say it.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			dir := t.TempDir()
			tr, err := open(t, dir, d)
			if err != nil {
				return "refused: " + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n"
			}
			tracetest.Check(t, tr)
			switch d.Cmd {
			case "load":
				return tracetest.Report(tr.Report()) + tracetest.Story(tracetest.Tasks(t, tr))
			case "write":
				return written(t, tr)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// open opens the rows of a command.
func open(t *testing.T, dir string, d *datadriven.TestData) (trace.Trace, error) {
	var o mooncake.Options
	d.MaybeScanArgs(t, "block", &o.BlockSize)
	d.MaybeScanArgs(t, "ids", &o.IDs)
	d.MaybeScanArgs(t, "cover", &o.IDsCover)
	var paths []string
	for i, rows := range strings.Split(d.Input, "==\n") {
		path := filepath.Join(dir, fmt.Sprintf("%c.jsonl", 'a'+i))
		if err := os.WriteFile(path, []byte(rows), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	inputs, err := trace.OpenInputs(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return mooncake.Open(inputs, o)
}

// written is a trace in Mooncake's format.
func written(t *testing.T, tr trace.Trace) string {
	var b strings.Builder
	src, err := tr.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Save(mooncake.NewWriter(&b, tr.Header()), src); err != nil {
		return "refused: " + err.Error() + "\n"
	}
	return b.String()
}

package rundir

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/metrics"
)

// written makes files in a new folder.
func written(t *testing.T, names ...string) string {
	dir := t.TempDir()
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o666))
	}
	return dir
}

// content is the names of a folder's files, and what is in those that are as old
// as written made them.
func content(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(text) == "old" {
			name += " (old)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func TestAFolderIsNeverOverwrittenByMistake(t *testing.T) {
	for _, c := range []struct {
		name      string
		holds     []string
		overwrite bool
		want      string // in the error; "": none
	}{
		{"empty", nil, false, ""},
		{"a run", []string{InfoFile, RequestsFile}, false, "holds the files of a run (per_request.csv, run.json)"},
		{"a run, overwrite", []string{InfoFile, RequestsFile}, true, ""},
		{"what a killed run left", []string{".run.json.0.tmp"}, false, "holds the files of a run (.run.json.0.tmp)"},
		{"what a killed run left, overwrite", []string{".run.json.0.tmp"}, true, ""},
		{"something else", []string{"thesis.tex"}, false, "holds thesis.tex: want"},
		{"something else beside a run", []string{InfoFile, "a", "b", "c", "d"}, true, "holds a, b, c and 1 more: want"},
		{"something hidden", []string{".notes.0.tmp"}, true, "holds .notes.0.tmp: want"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t, c.holds...)
			before := content(t, dir)
			d, err := Create(dir, c.overwrite)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
			if err == nil {
				must(t, d.Abort())
			}
			if after := content(t, dir); after != before {
				t.Errorf("%s became %s", before, after)
			}
		})
	}
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, InfoFile), 0o777))
	if _, err := Create(dir, true); err == nil {
		t.Error("a folder was taken for a file of a run")
	}
	file := filepath.Join(written(t, "f"), "f")
	if _, err := Create(file, true); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestFilesGetTheirNamesTogether(t *testing.T) {
	dir := written(t, InfoFile, SummaryFile, RequestsFile, "passes.jsonl", ".run.json.0.tmp")
	d, err := Create(dir, true)
	must(t, err)
	requests, err := d.Requests(Routing{Buckets: []string{"default"}})
	must(t, err)
	requests.Add(&metrics.Row{Status: metrics.Completed})
	_, err = d.Samples([]string{"default"})
	must(t, err)
	const old = ".instances.csv.0.tmp, .per_request.csv.0.tmp, .run.json.0.tmp (old), passes.jsonl (old), per_request.csv (old), run.json (old), summary.json (old)"
	if got := content(t, dir); got != old {
		t.Errorf("while the run goes on: %s", got)
	}
	must(t, d.Close(&Info{}, &metrics.Summary{}))
	if got := content(t, dir); got != "instances.csv, per_request.csv, run.json, summary.json" {
		t.Errorf("after it: %s", got)
	}
	must(t, d.Abort())
	if got := content(t, dir); got != "instances.csv, per_request.csv, run.json, summary.json" {
		t.Errorf("after a late abort: %s", got)
	}
}

func TestAnAbortedRunLeavesNothing(t *testing.T) {
	for _, made := range []bool{true, false} {
		dir := t.TempDir()
		run := filepath.Join(dir, "run")
		if !made {
			must(t, os.Mkdir(run, 0o777))
		}
		d, err := Create(run, false)
		must(t, err)
		requests, err := d.Requests(Routing{Buckets: []string{"default"}})
		must(t, err)
		for range 3000 {
			requests.Add(&metrics.Row{Status: metrics.Completed})
		}
		must(t, d.Abort())
		must(t, d.Abort())
		requests.Add(&metrics.Row{Status: metrics.Completed})
		if _, err := d.Tokens(); !errors.Is(err, ErrAborted) {
			t.Errorf("a new file: %v", err)
		}
		if err := d.Close(&Info{}, &metrics.Summary{}); !errors.Is(err, ErrAborted) {
			t.Errorf("close: %v", err)
		}
		want := ""
		if !made {
			want = "run"
		}
		if got := content(t, dir); got != want {
			t.Errorf("%q is left, want %q", got, want)
		}
	}
}

func TestAnAbortedRunLeavesNoFolderThatItMade(t *testing.T) {
	for _, c := range []struct{ there, put, want string }{
		{"", "", ""},
		{"sweep", "", "sweep"},
		{"sweep", "sweep/other", "sweep"},
		{"", "sweep/other", "sweep"}, // another run has come beside it meanwhile
	} {
		top := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(top, c.there), 0o777))
		d, err := Create(filepath.Join(top, "sweep", "first", "run"), false)
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(top, c.put), 0o777))
		must(t, d.Abort())
		if got := content(t, top); got != c.want {
			t.Errorf("%q there, %q put: %q is left, want %q", c.there, c.put, got, c.want)
		}
		if got := content(t, filepath.Join(top, c.want)); c.put != "" && got != "other" {
			t.Errorf("%q is left beside the other run", got)
		}
	}
}

// TestAbortMayComeAtAnyTime lets an abort race with the end of a run: there is a
// whole run afterwards, or nothing.
func TestAbortMayComeAtAnyTime(t *testing.T) {
	for range 50 {
		dir := t.TempDir()
		d, err := Create(dir, false)
		must(t, err)
		requests, err := d.Requests(Routing{Buckets: []string{"default"}})
		must(t, err)
		aborted := make(chan error)
		go func() { aborted <- d.Abort() }()
		for range 600 {
			requests.Add(&metrics.Row{Status: metrics.Completed})
		}
		err = d.Close(&Info{}, &metrics.Summary{})
		must(t, <-aborted)
		want := "per_request.csv, run.json, summary.json"
		if err != nil {
			want = ""
		}
		if got := content(t, dir); got != want {
			t.Fatalf("%q is left, want %q (%v)", got, want, err)
		}
	}
}

// TestAnErrorOfTheDiskNamesTheFile breaks a file in the middle of a run.
func TestAnErrorOfTheDiskNamesTheFile(t *testing.T) {
	dir := written(t, InfoFile)
	d, err := Create(dir, true)
	must(t, err)
	requests, err := d.Requests(Routing{Buckets: []string{"default"}})
	must(t, err)
	must(t, d.files[0].file.Close())
	for range 3000 {
		err = requests.Add(&metrics.Row{Status: metrics.Completed})
	}
	want := filepath.Join(dir, RequestsFile) + ": write: file already closed"
	if err == nil || err.Error() != want {
		t.Errorf("while it is written: %v, want %s", err, want)
	}
	if err := d.Close(&Info{}, &metrics.Summary{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("at the end: %v, want %s", err, want)
	}
	if got := content(t, dir); got != "run.json (old)" {
		t.Errorf("left: %s", got)
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	d, err := Create(t.TempDir(), false)
	must(t, err)
	f, err := d.File("passes.jsonl")
	must(t, err)
	must(t, f.file.Close())
	f.file = full
	f.buffer.Reset(full)
	f.Write([]byte("a line\n"))
	if err := d.Close(&Info{}, &metrics.Summary{}); err == nil || !strings.Contains(err.Error(), "passes.jsonl: write: no space left on device") {
		t.Error(err)
	}
}

func TestOnlyFilesOfARunAreMade(t *testing.T) {
	d, err := Create(t.TempDir(), false)
	must(t, err)
	if _, err := d.File("notes.txt"); err == nil {
		t.Error("notes.txt was made")
	}
	must(t, d.Abort())
}

func TestARunComesBackAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	d, err := Create(dir, false)
	must(t, err)
	info := &Info{
		Tool: Tool{"0.1.0", "abc"}, Seed: 42, Rules: "vllm-0.32", LatencyModel: "polynomial",
		Traces: []Trace{{Path: "t.jsonl", Format: "mooncake", Digest: "sha256:00", Rows: 5, Used: 3, LeftOut: map[string]int64{"no output": 2}}},
		Config: json.RawMessage(`{"seed": 42}`), Wall: Wall{LoopMs: 61.5},
	}
	tally := metrics.NewTally(metrics.Setup{Buckets: []string{"default"}})
	defer tally.Close()
	summary, err := tally.Summary(metrics.Run{LatencyModel: "polynomial"})
	must(t, err)
	must(t, d.Close(info, summary))
	r, err := Open(dir)
	must(t, err)
	again, err := json.Marshal(r.Info)
	must(t, err)
	want, err := json.Marshal(info)
	must(t, err)
	if string(again) != string(want) {
		t.Errorf("%s\nwant\n%s", again, want)
	}
	if r.Summary.LatencyModel != "polynomial" || !math.IsNaN(r.Summary.Latencies.TTFT.Mean) {
		t.Errorf("%+v", r.Summary)
	}
}

func TestWhatIsNoRunIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		info string // "": no file
		want []string
	}{
		"nothing there": {"", []string{InfoFile, "want the folder of a run"}},
		"no JSON":       {"{", []string{InfoFile, "unexpected end"}},
		"other schema":  {`{"schema":"reprise.trace","version":1}`, []string{InfoFile, `schema "reprise.trace" version 1: want "reprise.run" version 1`}},
		"a later one":   {`{"schema":"reprise.run","version":2}`, []string{`version 2: want "reprise.run" version 1`}},
		"no summary":    {`{"schema":"reprise.run","version":1}`, []string{SummaryFile}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.info != "" {
				must(t, os.WriteFile(filepath.Join(dir, InfoFile), []byte(c.info), 0o666))
			}
			_, err := Open(dir)
			if err == nil || slices.ContainsFunc(c.want, func(s string) bool { return !strings.Contains(err.Error(), s) }) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheFirstOfTwoRunsInOneFolderStays(t *testing.T) {
	for _, holds := range [][]string{nil, {InfoFile, SummaryFile, RequestsFile}} {
		dir := written(t, holds...)
		start := func() *Draft {
			d, err := Create(dir, true)
			must(t, err)
			_, err = d.File(RequestsFile)
			must(t, err)
			return d
		}
		first, second := start(), start()
		must(t, first.Close(&Info{Seed: 1}, &metrics.Summary{}))
		before, err := os.ReadFile(filepath.Join(dir, InfoFile))
		must(t, err)
		err = second.Close(&Info{Seed: 2}, &metrics.Summary{})
		if err == nil || !strings.Contains(err.Error(), "another run has written") {
			t.Errorf("the second run ends with %v", err)
		}
		after, err := os.ReadFile(filepath.Join(dir, InfoFile))
		must(t, err)
		if string(before) != string(after) || content(t, dir) != "per_request.csv, run.json, summary.json" {
			t.Errorf("the folder holds %s, run.json %s", content(t, dir), after)
		}
	}
}

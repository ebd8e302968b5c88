package mooncake_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
	"github.com/reprise-sim/reprise/trace/mooncake"
)

// load opens files with the default options.
func load(t testing.TB, paths ...string) trace.Trace {
	t.Helper()
	inputs, err := trace.OpenInputs(paths...)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := mooncake.Open(inputs, mooncake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// Every row of the real traces is read as encoding/json reads it.
func TestRealRowsAreReadExactly(t *testing.T) {
	for _, path := range []string{"testdata/conversation_head.jsonl.gz", "testdata/synthetic_head.jsonl.gz"} {
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		tr := load(t, path)
		tracetest.Check(t, tr)
		tasks := tracetest.Tasks(t, tr)
		lines := bufio.NewScanner(unpacked)
		for i := 0; lines.Scan(); i++ {
			var want struct {
				Timestamp    float64  `json:"timestamp"`
				InputLength  int32    `json:"input_length"`
				OutputLength int32    `json:"output_length"`
				HashIDs      []uint64 `json:"hash_ids"`
			}
			if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			task, n := tasks[i], &tasks[i].Nodes[0]
			l := n.Input.Leaf()
			if task.ReleaseMs != want.Timestamp || n.InputTokens != want.InputLength || n.OutputTokens != want.OutputLength ||
				!slices.Equal(l.BlockIDs, want.HashIDs) || l.BlockSize != 512 || l.Scope != 0 || n.Line != int32(i+1) {
				t.Fatalf("%s:%d: read %s", path, i+1, tracetest.Story(tasks[i:i+1]))
			}
		}
		if h := tr.Header(); h.Depth != trace.Blocks || h.BlockSize != 512 || h.IDs != trace.IDsGlobal || h.Format != "mooncake" {
			t.Errorf("%s: header %+v", path, h)
		}
	}
}

// traces is the folder of the full traces; tests that need it are skipped without.
func traces(t *testing.T, name string) string {
	dir := os.Getenv("REPRISE_TRACES")
	if dir == "" {
		t.Skipf("%s: REPRISE_TRACES does not say where it is", name)
	}
	return filepath.Join(dir, "mooncake", name)
}

// The facts of spec/formats.md 1.2 and of the traces' README.
func TestFactsOfTheFullTraces(t *testing.T) {
	for _, c := range []struct {
		name, digest      string
		bytes             int64
		tasks             int
		lastMs            float64
		inMin, inMax      int32
		inMean            float64
		outMin, outMax    int32
		outMean           float64
		ids, distinct     int
		multiples, equals int
	}{
		{"conversation_trace.jsonl.gz", "sha256:f44195697c46b9cb97a5fc5f52756969104d6f7174e4c3a16484f7d3c46391a5", 784100,
			12031, 3536999, 891, 126195, 12035.06, 1, 2000, 342.62, 288500, 182790, 22, 10851},
		{"synthetic_trace.jsonl", "sha256:bd070915a98fc0ed264d7cfef2ce746002eb3076a695ec31ba2674c0111ec131", 1136313,
			3993, 1022025, 13, 191378, 15325.48, 1, 893, 149.12, 121877, 43924, 4, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := load(t, traces(t, c.name))
			r := tr.Report()
			if r.Files[0].Digest != c.digest || r.Files[0].Bytes != c.bytes {
				t.Errorf("file %+v", r.Files[0])
			}
			if r.Tasks != c.tasks || r.FirstMs != 0 || r.LastMs != c.lastMs || r.OutOfOrder != 0 || !r.Independent {
				t.Errorf("report %s", tracetest.Report(r))
			}
			if in, out := float64(r.InputTokens)/float64(r.Calls), float64(r.OutputTokens)/float64(r.Calls); math.Abs(in-c.inMean) > 0.005 || math.Abs(out-c.outMean) > 0.005 {
				t.Errorf("mean lengths %v and %v", in, out)
			}
			distinct := map[uint64]bool{}
			ids, multiples, equals, last := 0, 0, 0, -1.0
			inMin, inMax, outMin, outMax := int32(math.MaxInt32), int32(0), int32(math.MaxInt32), int32(0)
			for _, task := range tracetest.Tasks(t, tr) {
				n := &task.Nodes[0]
				for _, id := range n.Input.Leaf().BlockIDs {
					ids++
					distinct[id] = true
				}
				if n.InputTokens%512 == 0 {
					multiples++
				}
				if task.ReleaseMs == last {
					equals++
				}
				last = task.ReleaseMs
				inMin, inMax = min(inMin, n.InputTokens), max(inMax, n.InputTokens)
				outMin, outMax = min(outMin, n.OutputTokens), max(outMax, n.OutputTokens)
			}
			if ids != c.ids || len(distinct) != c.distinct || multiples != c.multiples || equals != c.equals {
				t.Errorf("%d ids, %d distinct, %d multiples of 512, %d equal times", ids, len(distinct), multiples, equals)
			}
			if inMin != c.inMin || inMax != c.inMax || outMin != c.outMin || outMax != c.outMax {
				t.Errorf("input %d to %d, output %d to %d", inMin, inMax, outMin, outMax)
			}
		})
	}
}

// anyRow is a row of a session or of none, without its time.
type anyRow struct {
	session       string
	input, output int
	request       bool
}

// line is the row at a time.
func (r anyRow) line(ms int) string {
	name, request := "", fmt.Sprintf(`"request_id":"at %d",`, ms)
	if r.session != "" {
		name = fmt.Sprintf(`"session_id":%q,`, r.session)
		if !r.request {
			request = ""
		}
	}
	return fmt.Sprintf(`{%s%s"timestamp":%d,"input_length":%d,"output_length":%d}`, name, request, ms, r.input, r.output)
}

// rowsAtDifferentTimes are rows in order of time.
func rowsAtDifferentTimes(t *rapid.T) []string {
	rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) anyRow {
		return anyRow{
			session: rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "session"),
			input:   rapid.IntRange(0, 2000).Draw(t, "input"),
			output:  rapid.IntRange(0, 9).Draw(t, "output"),
			request: rapid.Bool().Draw(t, "named"),
		}
	}), 1, 30).Draw(t, "rows")
	lines := make([]string, len(rows))
	ms := 0
	for i, r := range rows {
		ms += rapid.IntRange(1, 100).Draw(t, "gap")
		lines[i] = r.line(ms)
	}
	return lines
}

// told is what is made of lines, but for the lines they stand on.
func told(t testing.TB, dir string, lines []string, suffix string) string {
	path := filepath.Join(dir, "t.jsonl"+suffix)
	content := []byte(strings.Join(lines, "\n"))
	if suffix == ".gz" {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		content = b.Bytes()
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	tr := load(t, path)
	tracetest.Check(t, tr)
	tasks := tracetest.Tasks(t, tr)
	for _, task := range tasks {
		if len(task.Nodes) == 1 && task.Nodes[0].Session == "" {
			task.ID = "request"
		}
	}
	return tracetest.Story(tasks)
}

func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		lines := rowsAtDifferentTimes(r)
		want := told(t, dir, lines, "")
		shuffled := rapid.Permutation(lines).Draw(r, "order")
		for _, suffix := range []string{"", ".gz"} {
			if got := told(t, dir, shuffled, suffix); got != want {
				r.Fatalf("%s\nin order:\n%s\nshuffled:\n%s", strings.Join(shuffled, "\n"), want, got)
			}
		}
	})
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		path := filepath.Join(dir, "t.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(rowsAtDifferentTimes(r), "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
		first := load(t, path)
		var want []byte
		for range 2 {
			src, err := first.Tasks()
			if err != nil {
				t.Fatal(err)
			}
			w, err := mooncake.Create(path+".zst", first.Header())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := trace.Save(w, src); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path + ".zst")
			if err != nil {
				t.Fatal(err)
			}
			if want != nil && !bytes.Equal(got, want) {
				r.Fatalf("written twice, with different bytes")
			}
			second := load(t, path+".zst")
			if a, b := tracetest.Story(unnamed(t, first)), tracetest.Story(unnamed(t, second)); a != b {
				r.Fatalf("written:\n%s\nread back:\n%s", a, b)
			}
			first, want = second, got
		}
	})
}

// unnamed are the tasks without the names that the format does not keep.
func unnamed(t testing.TB, tr trace.Trace) []*trace.Task {
	tasks := tracetest.Tasks(t, tr)
	for _, task := range tasks {
		if task.Nodes[0].Session == "" {
			task.ID = "request"
		}
	}
	return tasks
}

func TestOtherFormatsAreNotTakenForThisOne(t *testing.T) {
	for head, want := range map[string]bool{
		`{"timestamp":0,"input_length":5,"output_length":1}`:                                                               true,
		`{"output_tokens":1,"hash_ids":[1`:                                                                                 true,
		"{\"timestamp\":\n" + `{"output_tokens":1,"hash_ids":[1]}`:                                                         true,
		`{"chat_id":1,"parent_chat_id":-1,"timestamp":0.5,"input_length":5,"output_length":1,"hash_ids":[1]}`:              false,
		`{"schema":"dynamo.agentic_mooncake","version":2,"block_size":16}` + "\n" + `{"input_length":1,"output_length":1}`: false,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n":                                                                        false,
		"": false,
	} {
		if got := mooncake.Sniff([]byte(head)); got != want {
			t.Errorf("%s: %v", head, got)
		}
	}
}

// FuzzRows opens any file. It is refused, or its streaming pass keeps what the
// report says.
func FuzzRows(f *testing.F) {
	f.Add("{\"timestamp\":5,\"input_length\":600,\"output_length\":3,\"hash_ids\":[1,2]}\r\n\n{\"timestamp\":2,\"input_length\":1,\"output_length\":1}", uint8(0))
	f.Add("\xef\xbb\xbf{\"session_id\":\"a\",\"timestamp\":5,\"input_length\":6,\"output_length\":3}\n{\"session_id\":\"b\",\"timestamp\":5.5,\"input_tokens\":6,\"output_tokens\":3}\n{\"session_id\":\"a\",\"delay\":1,\"input_length\":7,\"output_length\":3}", uint8(1))
	f.Add("{\"request_id\":\"line:1\",\"timestamp\":0,\"output_length\":0,\"hash_ids\":[18446744073709551615]}\n{\"input_length\":1,\"output_length\":1}", uint8(2))
	f.Fuzz(func(t *testing.T, rows string, setting uint8) {
		inputs, err := trace.OpenInputs(tracetest.File(t, "t.jsonl", rows))
		if err != nil {
			t.Fatal(err)
		}
		o := []mooncake.Options{{}, {IDs: trace.IDsSession}, {IDsCover: trace.CoverFull}}[setting%3]
		tr, err := mooncake.Open(inputs, o)
		if err != nil {
			return
		}
		tracetest.Check(t, tr)
	})
}

package stats_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
	"github.com/reprise-sim/reprise/trace/stats"
)

func of(t testing.TB, path string, f formats.Options, o stats.Options) *stats.Stats {
	t.Helper()
	tr, err := formats.Open([]string{path}, f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stats.Of(tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The hit rates of spec/formats.md 1.2, which knows that the order of use inside a
// request moves them by less than 0.2 points.
func TestHitRatesOfTheFullTraces(t *testing.T) {
	dir := os.Getenv("REPRISE_TRACES")
	if dir == "" {
		t.Skip("mooncake/conversation_trace.jsonl.gz, mooncake/synthetic_trace.jsonl: REPRISE_TRACES does not say where they are")
	}
	for _, c := range []struct {
		name                   string
		blocks, distinct, hits int
		percent                []float64
		inMedian               float64
	}{
		{"conversation_trace.jsonl.gz", 288500, 182790, 105710, []float64{4.45, 21.1, 32.6, 35.5, 36.4}, 6909},
		{"synthetic_trace.jsonl", 121877, 43924, 77953, []float64{8.3, 42.4, 62.4, 64.0, 64.0}, 11587},
	} {
		s := of(t, filepath.Join(dir, "mooncake", c.name), formats.Options{}, stats.Options{})
		if got := s.Sharing; got.Blocks != c.blocks || got.Distinct != c.distinct || got.Hits != c.hits {
			t.Errorf("%s: %d blocks, %d distinct, %d hits", c.name, got.Blocks, got.Distinct, got.Hits)
		}
		for i, want := range c.percent {
			if got := 100 * s.Sharing.Caches[i].HitRate; math.Abs(got-want) > 0.2 {
				t.Errorf("%s: %d blocks hit %.2f %%, want %.2f %%", c.name, s.Sharing.Caches[i].Blocks, got, want)
			}
		}
		if s.Input.Median != c.inMedian {
			t.Errorf("%s: median prompt %v, want %v", c.name, s.Input.Median, c.inMedian)
		}
	}
}

// Case 6 of the public reports: with 64-bit ids only the last row repeats another.
func TestIdsAre64BitsWide(t *testing.T) {
	path := tracetest.File(t, "t.jsonl", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,2]}
{"timestamp":1000,"input_length":32,"output_length":1,"hash_ids":[4294967297,4294967298]}
{"timestamp":2000,"input_length":32,"output_length":1,"hash_ids":[9007199254740992,3]}
{"timestamp":3000,"input_length":32,"output_length":1,"hash_ids":[9007199254740993,4]}
{"timestamp":4000,"input_length":32,"output_length":1,"hash_ids":[18446744073709551615,5]}
{"timestamp":5000,"input_length":32,"output_length":1,"hash_ids":[9007199254740992,3]}
`)
	s := of(t, path, formats.Options{BlockSize: 16}, stats.Options{})
	if s.Sharing.Hits != 2 || s.Sharing.Blocks != 12 {
		t.Errorf("%d hits of %d, want 2 of 12", s.Sharing.Hits, s.Sharing.Blocks)
	}
}

// What is hit by each cache is what a cache that is kept block by block hits.
func TestOnePassSeesEveryCacheSize(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		prompts := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(1, 3), 1, 5), 1, 400).Draw(r, "prompts")
		var file strings.Builder
		for i, ids := range prompts {
			text, _ := json.Marshal(ids)
			fmt.Fprintf(&file, `{"timestamp":%d,"input_length":%d,"output_length":1,"hash_ids":%s}`+"\n", i, 4*len(ids), text)
		}
		path := filepath.Join(dir, "t.jsonl")
		if err := os.WriteFile(path, []byte(file.String()), 0o666); err != nil {
			r.Fatal(err)
		}
		sizes := []int{1, 2, 3, 5, 8, 13, 1000}
		got := of(t, path, formats.Options{BlockSize: 4}, stats.Options{CacheBlocks: sizes}).Sharing
		for i, size := range sizes {
			if want := hits(prompts, size); got.Caches[i].Hits != want {
				r.Fatalf("a cache of %d blocks hits %d, want %d", size, got.Caches[i].Hits, want)
			}
		}
		if want := hits(prompts, 1<<30); got.Hits != want {
			r.Fatalf("a cache without limit hits %d, want %d", got.Hits, want)
		}
	})
}

// hits counts the hits of one cache that keeps a list of its blocks, last used first.
func hits(prompts [][]uint64, size int) (n int) {
	var cache []string
	for _, ids := range prompts {
		names := make([]string, len(ids))
		for i := range ids {
			names[i] = fmt.Sprint(ids[:i+1])
		}
		for _, name := range names {
			if !slices.Contains(cache, name) {
				break
			}
			n++
		}
		for _, name := range slices.Backward(names) {
			if i := slices.Index(cache, name); i >= 0 {
				cache = slices.Delete(cache, i, i+1)
			}
			cache = slices.Insert(cache, 0, name)
			cache = cache[:min(len(cache), size)]
		}
	}
	return n
}

const agent = `{"schema":"reprise.trace","version":1}
{"id":"a","task":"T","kind":"llm","not_before_ms":0,"input":{"tokens":[1,2,3,4]},"output":{"length":10}}
{"id":"t","task":"T","kind":"tool","after":[{"id":"a"}],"duration_ms":30}
{"id":"b","task":"T","kind":"llm","after":[{"id":"t"}],"input":{"extends":"a","keep":14,"tokens":[5,6]},"output":{"length":20}}
{"id":"c","task":"T","kind":"llm","after":[{"id":"b","delay_ms":7}],"input":{"tokens":[1,2,3,4]},"output":{"length":5}}
{"id":"w","task":"T","kind":"think","after":[{"id":"c"}],"duration_ms":1000}
{"id":"d","kind":"llm","not_before_ms":400,"input":{"tokens":[1,2,3,9]},"output":{"length":1}}
{"id":"e","kind":"llm","input":{"length":8},"output":{"length":1}}
`

func TestGraphsAreCountedNodeByNode(t *testing.T) {
	s := of(t, tracetest.File(t, "t.jsonl", agent), formats.Options{}, stats.Options{BlockSize: 2, CacheBlocks: []int{4}})
	if s.Tasks != 3 || s.Calls != 5 || s.Tools != 1 || s.Waits != 1 || s.Untimed != 1 || s.InputTokens != 36 || s.OutputTokens != 37 {
		t.Errorf("%+v", s)
	}
	for name, c := range map[string]struct {
		got  *stats.Distribution
		want [4]float64 // count, min, median, max
	}{
		"input":  {s.Input, [4]float64{5, 4, 4, 16}},
		"output": {s.Output, [4]float64{5, 1, 5, 20}},
		"turns":  {s.Turns, [4]float64{3, 1, 1, 3}},
		"pauses": {s.Pauses, [4]float64{1, 7, 7, 7}},
		"tool":   {s.Tool, [4]float64{1, 30, 30, 30}},
		"wait":   {s.Wait, [4]float64{1, 1000, 1000, 1000}},
		"gaps":   {s.Gaps, [4]float64{1, 400, 400, 400}},
	} {
		if got := [4]float64{float64(c.got.Count), c.got.Min, c.got.Median, c.got.Max}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// a: 2 blocks; b: 8, the first 2 seen; c: 2, both seen; d: 2, the first seen.
	if s.Sharing.Blocks != 14 || s.Sharing.Hits != 5 || s.Sharing.BlockSize != 2 {
		t.Errorf("sharing %+v", s.Sharing)
	}
}

// Case 8 of the public reports: what one request does not define is null.
func TestUndefinedFiguresAreNull(t *testing.T) {
	path := tracetest.File(t, "t.jsonl", `{"timestamp":5,"input_length":100,"output_length":1}`)
	text, err := json.Marshal(of(t, path, formats.Options{}, stats.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pause_ms", "tool_ms", "wait_ms", "interarrival_ms", "rate", "sharing"} {
		if !strings.Contains(string(text), `"`+key+`":null`) {
			t.Errorf("%s is not null in %s", key, text)
		}
	}
}

// Case 8 (d): the median of three is the middle one, a higher percentile is never
// smaller, and the mean is the sum's third.
func TestPercentilesAreSamples(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 60).Draw(r, "lengths")
		var tasks []*trace.Task
		sum := 0
		for _, n := range lengths {
			tasks = append(tasks, &trace.Task{Nodes: []trace.Node{{InputTokens: int32(n), Extends: -1}}})
			sum += n
		}
		s, err := stats.Of(memory(tasks), stats.Options{})
		if err != nil {
			r.Fatal(err)
		}
		d := s.Input
		slices.Sort(lengths)
		ladder := []float64{d.Min, d.P25, d.Median, d.P75, d.P90, d.P95, d.P99, d.Max}
		if !slices.IsSorted(ladder) || d.Min != float64(lengths[0]) || d.Max != float64(lengths[len(lengths)-1]) {
			r.Fatalf("%v of %v", ladder, lengths)
		}
		for _, p := range ladder {
			if !slices.Contains(lengths, int(p)) {
				r.Fatalf("%v is none of %v", p, lengths)
			}
		}
		if n := len(lengths); n%2 == 1 && d.Median != float64(lengths[n/2]) {
			r.Fatalf("median %v of %v", d.Median, lengths)
		}
		if d.Mean != float64(sum)/float64(len(lengths)) {
			r.Fatalf("mean %v of %v", d.Mean, lengths)
		}
		in := 0
		for _, b := range d.Buckets {
			in += b.Count
		}
		if in != len(lengths) || d.Buckets[0].Count == 0 || d.Buckets[0].From > d.Min || d.Buckets[len(d.Buckets)-1].To <= d.Max {
			r.Fatalf("buckets %v of %v", d.Buckets, lengths)
		}
	})
}

func TestRateIsCountedByWindow(t *testing.T) {
	var rows strings.Builder
	for i := range 100 { // one a second, and 50 more in second 42
		fmt.Fprintf(&rows, `{"timestamp":%d,"input_length":1,"output_length":1}`+"\n", 5000+1000*i)
		for j := range 50 {
			if i == 42 {
				fmt.Fprintf(&rows, `{"timestamp":%d,"input_length":1,"output_length":1}`+"\n", 5000+1000*i+j)
			}
		}
	}
	r := of(t, tracetest.File(t, "t.jsonl", rows.String()), formats.Options{}, stats.Options{}).Rate
	if r.WindowMs != 2000 || r.FromMs != 5000 || len(r.PerS) != 50 || r.PerS[0] != 1 || r.PerS[20] != 1 {
		t.Errorf("%+v", r)
	}
	if r.Peak != 26 || r.PeakAtMs != 47000 || math.Abs(r.Mean-149./99) > 1e-12 {
		t.Errorf("peak %v at %v, mean %v", r.Peak, r.PeakAtMs, r.Mean)
	}
}

// memory is a trace of tasks that nobody has recorded.
type memory []*trace.Task

func (m memory) Header() trace.Header  { return trace.Header{} }
func (m memory) Report() *trace.Report { return &trace.Report{Tasks: len(m), LastMs: 0} }
func (m memory) Tasks() (trace.Source, error) {
	rest := slices.Clone(m)
	return &rest, nil
}

func (m *memory) Next() (*trace.Task, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	t := (*m)[0]
	*m = (*m)[1:]
	return t, nil
}

func (m *memory) Close() error { return nil }

func ExampleRate_Spark() {
	r := &stats.Rate{PerS: []float64{0, 1, 2, 4, 8, 4, 3}, Peak: 8}
	fmt.Println(r.Spark())
	// Output:  ▁▂▄█▄▃
}

func ExampleDistribution_Bars() {
	d := &stats.Distribution{Count: 1203, Buckets: []stats.Bucket{{500, 1000, 3}, {1000, 2000, 800}, {2000, 5000, 400}}}
	fmt.Print(d.Bars(12))
	// Output:
	//   500 – 1,000  ▏                  3  (0.2 %)
	// 1,000 – 2,000  ████████████     800  (66.5 %)
	// 2,000 – 5,000  ██████           400  (33.3 %)
}

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/config"
)

// bucketCase is one case of the second implementation of the bucketed service.
type bucketCase struct {
	Name      string          `json:"name"`
	Input     string          `json:"input"`
	Expected  string          `json:"expected"`
	Routing   string          `json:"routing"`
	Transfers string          `json:"transfers"`
	Summary   json.RawMessage `json:"summary"`
	Config    json.RawMessage `json:"config"`
}

// Times may differ by another order of additions, scores and shares by rounding.
const (
	timeTolerance  = 1e-6
	scoreTolerance = 1e-12
)

// Configurations of the bucketed service give every request the bucket, instance,
// tiers and times, every decision the candidates and reasons, and every transfer the
// moments that a second implementation of the same specification gives them.
func TestBucketsEqualTheSecondImplementation(t *testing.T) {
	eachCase(t, func(t *testing.T, dir string, raw json.RawMessage) {
		var c bucketCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(c.Name, "kv-router") {
			t.Skip("needs the router kv_router")
		}
		c.run(t, dir)
	}, func(set string) bool { return set == "buckets" })
}

// What must be refused is refused with the names and numbers that help.
func TestBucketsAreRefusedAsSpecified(t *testing.T) {
	for _, index := range indexes(t) {
		dir := filepath.Dir(index)
		if filepath.Base(dir) != "buckets" {
			continue
		}
		var cases []struct {
			Name, Input     string
			Config          json.RawMessage
			MessageContains []string `json:"message_contains"`
		}
		if err := json.Unmarshal(readFile(t, dir, "errors.json"), &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				if c.Input == "" {
					c.Input = "inputs/b11-remote.jsonl"
				}
				out := filepath.Join(t.TempDir(), "run")
				_, err := prepare(t, c.Config, filepath.Join(dir, c.Input), out, config.Options{})
				if err == nil {
					t.Fatal("it was taken")
				}
				for _, part := range c.MessageContains {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in: %v", part, err)
					}
				}
				if _, err := os.Stat(out); err == nil {
					t.Error("files were written")
				}
			})
		}
	}
}

// prepare loads a configuration that is given as JSON.
func prepare(t *testing.T, text json.RawMessage, input, out string, o config.Options) (*config.Simulation, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Sources{File: file, Trace: []string{input}, Out: out, Set: []string{"arrival.turns=recorded"}})
	if err != nil {
		return nil, err
	}
	return config.Prepare(context.Background(), c, o)
}

// run runs a case and compares all of it. Going from instant to instant leaves the
// same files.
func (c *bucketCase) run(t *testing.T, dir string) {
	out, transfers := c.simulate(t, dir, false)
	stepwise, _ := c.simulate(t, dir, true)
	for _, file := range []string{"per_request.csv", "routing_log.jsonl", "instances.csv", "summary.json"} {
		if string(readFile(t, out, file)) != string(readFile(t, stepwise, file)) {
			t.Errorf("%s depends on how the run was made", file)
		}
	}
	want := readLines[map[string]any](t, dir, c.Expected)
	got := readRequests(t, out)
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i := range want {
		if strings.HasPrefix(got[i]["request_id"], "line:") { // it has no name; the other implementation gives it one
			got[i]["request_id"] = fmt.Sprintf("request_%d:0", i+1)
		}
		compareRequest(t, got[i], want[i])
	}
	c.compareRouting(t, dir, out)
	c.compareTransfers(t, dir, transfers, got)
	c.compareSummary(t, out)
}

// simulate runs the case and is the folder of its files.
func (c *bucketCase) simulate(t *testing.T, dir string, stepwise bool) (out string, transfers []cluster.Transfer) {
	out = filepath.Join(t.TempDir(), "run")
	s, err := prepare(t, c.Config, filepath.Join(dir, c.Input), out, config.Options{
		Stepwise:  stepwise,
		Transfers: func(tr *cluster.Transfer) { transfers = append(transfers, *tr) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out, transfers
}

// readRequests reads per_request.csv as texts by column.
func readRequests(t *testing.T, out string) []map[string]string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(readFile(t, out, "per_request.csv"))), "\n")
	names := strings.Split(lines[0], ",")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, ",") {
			row[names[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// compareRequest compares the columns that both have.
func compareRequest(t *testing.T, got map[string]string, want map[string]any) {
	t.Helper()
	for name, w := range want {
		g, ok := got[name]
		if !ok { // row, bucket_id, bucket_scores
			continue
		}
		if !same(g, w) {
			t.Errorf("request %v: %s %q, want %v", want["request_id"], name, g, w)
		}
	}
}

// same is whether a cell says what a JSON value says.
func same(cell string, want any) bool {
	switch w := want.(type) {
	case nil:
		return cell == ""
	case float64:
		var g float64
		_, err := fmt.Sscan(cell, &g)
		return err == nil && math.Abs(g-w) <= timeTolerance
	}
	return cell == fmt.Sprint(want)
}

// compareRouting compares the log of decisions, all that the expected one has.
func (c *bucketCase) compareRouting(t *testing.T, dir, out string) {
	t.Helper()
	if c.Routing == "" {
		return
	}
	want, got := readLines[any](t, dir, c.Routing), readLines[any](t, out, "routing_log.jsonl")
	if len(got) != len(want) {
		t.Fatalf("%d decisions, want %d", len(got), len(want))
	}
	for i := range want {
		if d, ok := got[i].(map[string]any); ok && d["request_id"] == fmt.Sprintf("line:%d", i) {
			d["request_id"] = fmt.Sprintf("request_%d:0", i+1)
		}
		if where := differs("", got[i], want[i]); where != "" {
			t.Fatalf("decision %d: %s", i, where)
		}
	}
}

// differs says where two JSON values differ; got may have more keys.
func differs(path string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
		for key := range w {
			if where := differs(path+"."+key, g[key], w[key]); where != "" {
				return where
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok && got != nil || len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
		for i := range w {
			if where := differs(fmt.Sprintf("%s[%d]", path, i), g[i], w[i]); where != "" {
				return where
			}
		}
		return ""
	case float64:
		tolerance := scoreTolerance
		if strings.HasSuffix(path, "_ms") {
			tolerance = timeTolerance
		}
		if g, ok := got.(float64); ok && math.Abs(g-w) <= tolerance {
			return ""
		}
	default:
		if reflect.DeepEqual(got, want) {
			return ""
		}
	}
	return fmt.Sprintf("%s: %v, want %v", path, got, want)
}

// compareTransfers compares what moved between tiers.
func (c *bucketCase) compareTransfers(t *testing.T, dir string, got []cluster.Transfer, requests []map[string]string) {
	t.Helper()
	if c.Transfers == "" {
		return
	}
	want := readLines[struct {
		Request    string  `json:"request_id"`
		Instance   int32   `json:"instance"`
		Tier       string  `json:"tier"`
		Owner      *int32  `json:"owner"`
		FirstBlock int32   `json:"first_block"`
		Blocks     int32   `json:"blocks"`
		Moved      int32   `json:"moved"`
		AskedMs    float64 `json:"asked_ms"`
		StartMs    float64 `json:"start_ms"`
		EndMs      float64 `json:"end_ms"`
	}](t, dir, c.Transfers)
	if len(got) != len(want) {
		t.Fatalf("%d transfers, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := &got[i]
		ok := requests[g.Row]["request_id"] == w.Request && g.Instance == w.Instance && g.Source.Host == (w.Tier == "l1") &&
			(w.Owner == nil || g.Source.Host || g.Source.Owner == *w.Owner) &&
			g.Source.From == w.FirstBlock && g.Source.Blocks == w.Blocks && g.Moved == w.Moved
		for _, ms := range [][2]float64{{g.AskedMs, w.AskedMs}, {g.StartMs, w.StartMs}, {g.EndMs, w.EndMs}} {
			ok = ok && math.Abs(ms[0]-ms[1]) <= timeTolerance
		}
		if !ok {
			t.Fatalf("transfer %d: %+v of %s, want %+v", i, *g, requests[g.Row]["request_id"], w)
		}
	}
}

// bucketSummary are the figures of a bucket that the expected summary has.
type bucketSummary struct {
	Name                          string
	Requests, Completed, Rejected int64
	InputTokens                   int64   `json:"input_tokens"`
	OutputTokens                  int64   `json:"output_tokens"`
	L0Blocks                      int64   `json:"l0_blocks"`
	L1Blocks                      int64   `json:"l1_blocks"`
	RemoteBlocks                  int64   `json:"remote_blocks"`
	MissBlocks                    int64   `json:"miss_blocks"`
	RemoteStaleBlocks             int64   `json:"remote_stale_blocks"`
	LoadWaitMs                    float64 `json:"load_wait_ms"`
	Preemptions, Passes           int64
	BusyMs                        float64  `json:"busy_ms"`
	Utilisation                   *float64 `json:"utilisation"`
	LengthMatchRate               *float64 `json:"length_match_rate"`
}

// compareSummary compares totals and figures of buckets.
func (c *bucketCase) compareSummary(t *testing.T, out string) {
	t.Helper()
	var got, want struct {
		DurationMs *float64        `json:"duration_ms"`
		Offered    int64           `json:"offered"`
		Completed  int64           `json:"completed"`
		Rejected   int64           `json:"rejected"`
		NoBucket   int64           `json:"rejected_no_bucket"`
		PerBucket  []bucketSummary `json:"per_bucket"`
	}
	var flat map[string]any
	for _, err := range []error{
		json.Unmarshal(readFile(t, out, "summary.json"), &got), json.Unmarshal(c.Summary, &want), json.Unmarshal(c.Summary, &flat),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(got.PerBucket) != len(want.PerBucket) {
		t.Fatalf("%d buckets, want %d", len(got.PerBucket), len(want.PerBucket))
	}
	for i := range want.PerBucket {
		g, w := jsonOf(t, got.PerBucket[i]), jsonOf(t, want.PerBucket[i])
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if a, ok := g[key].(float64); ok {
				if b, ok := w[key].(float64); ok && math.Abs(a-b) <= timeTolerance {
					continue
				}
			}
			if !reflect.DeepEqual(g[key], w[key]) {
				t.Errorf("bucket %s: %s %v, want %v", want.PerBucket[i].Name, key, g[key], w[key])
			}
		}
	}
}

func jsonOf(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

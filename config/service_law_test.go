package config_test

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
)

// Every case writes the folders of several runs; -rapid.checks asks for more of them.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	m.Run()
}

// section is a part of a configuration.
type section map[string]any

// drawnService is a bucketed service in which little is enough, and requests for it.
type drawnService struct {
	Trace   section `json:"trace"`
	Arrival section `json:"arrival"`
	Engine  section `json:"engine"`
	Latency section `json:"latency"`
	Cluster section `json:"cluster"`
	Output  section `json:"output"`
	Seed    int     `json:"seed"`

	buckets []cluster.BucketSettings // in order of their ranges
	rows    []row
}

func drawService(t *rapid.T) *drawnService {
	size := rapid.IntRange(2, 6).Draw(t, "block size")
	s := &drawnService{
		Trace:   section{"block_size": size, "ids": "global"},
		Arrival: section{"origin": "recorded", "turns": "recorded"},
		Engine: section{
			"block_size": size, "num_gpu_blocks": rapid.IntRange(4, 24).Draw(t, "blocks"),
			"max_num_seqs": rapid.IntRange(1, 4).Draw(t, "seqs"), "max_num_batched_tokens": rapid.IntRange(4, 40).Draw(t, "budget"),
			"kv_cache_bytes_per_token": 1e6 / float64(size), "rules": rapid.SampledFrom([]string{"vllm", "vllm", "aisimulate"}).Draw(t, "rules"),
		},
		Latency: section{"model": "fixed", "prefill_ms": rapid.SampledFrom([]float64{0, 1, 1.7}).Draw(t, "prefill"), "decode_ms": 1},
		Output:  section{"routing_log": true, "sample_interval_ms": 5},
		Seed:    rapid.IntRange(0, 3).Draw(t, "seed"),
	}
	if s.Engine["rules"] == "vllm" {
		s.Engine["vllm"] = section{"async_scheduling": rapid.Bool().Draw(t, "async")}
	}
	s.Cluster = section{"router": drawRouter(t), "cache": drawCache(t), "on_unroutable": "reject", "meta_store": section{
		"ttl_seconds": rapid.SampledFrom([]float64{0.01, 1000}).Draw(t, "ttl"), "withdraw_delay_ms": rapid.SampledFrom([]any{0, 3, nil}).Draw(t, "withdraw"),
	}}
	if c := s.Cluster["cache"].(section); c["l1_blocks"] == 0 && c["remote_gbps"] == 0.0 {
		s.Engine["enable_prefix_caching"] = rapid.Bool().Draw(t, "caching")
	}
	s.drawBuckets(t)
	s.drawRows(t)
	return s
}

func drawRouter(t *rapid.T) section {
	all := routing.Policies()
	r := section{"mode": all[rapid.IntRange(0, len(all)-1).Draw(t, "router")].Mode}
	if r["mode"] == "prefix_affinity" || r["mode"] == "cache_affinity" {
		r["prefix_k"] = rapid.IntRange(1, 3).Draw(t, "prefix k")
	}
	return r
}

func drawCache(t *rapid.T) section {
	c := section{"l1_blocks": rapid.SampledFrom([]int{0, 3, 12}).Draw(t, "l1 blocks"), "l1_gbps": rapid.SampledFrom([]any{0.5, "inf"}).Draw(t, "l1")}
	if c["l1_gbps"] == "inf" {
		c["l1_gbps"] = 1e9
	}
	c["remote_gbps"] = rapid.SampledFrom([]float64{0, 0.5, 1e9}).Draw(t, "remote")
	c["remote_latency_us"] = rapid.SampledFrom([]float64{0, 10, 500}).Draw(t, "remote latency")
	c["load_policy"] = rapid.SampledFrom([]string{"always", "cheaper"}).Draw(t, "load policy")
	return c
}

func (s *drawnService) drawBuckets(t *rapid.T) {
	low := 0
	for i := range rapid.IntRange(1, 3).Draw(t, "buckets") {
		low += rapid.IntRange(0, 2).Draw(t, "gap")
		high := low + rapid.IntRange(3, 20).Draw(t, "width")
		s.buckets = append(s.buckets, cluster.BucketSettings{
			Name: fmt.Sprint("b", i), InputLengthMin: low, InputLengthMax: &high, NumInstances: rapid.IntRange(1, 4).Draw(t, "instances"),
		})
		low = high + 1
	}
	if rapid.Bool().Draw(t, "unlimited") {
		s.buckets[len(s.buckets)-1].InputLengthMax = nil
	}
	s.Cluster["buckets"] = rapid.Permutation(s.buckets).Draw(t, "order in the file")
}

func (s *drawnService) drawRows(t *rapid.T) {
	drawn := rapid.Custom(func(t *rapid.T) row {
		return row{
			atMs: rapid.SampledFrom([]float64{0, 0, 1, 3, 10}).Draw(t, "gap"), in: rapid.IntRange(0, 50).Draw(t, "in"), out: rapid.IntRange(1, 6).Draw(t, "out"),
			session: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "session"),
			content: make([]int, rapid.IntRange(0, 50).Draw(t, "like others")),
		}
	})
	at := 0.0
	for i, r := range rapid.SliceOfN(drawn, 1, 20).Draw(t, "rows") {
		at += r.atMs
		r.id, r.atMs = fmt.Sprint("r", i), at
		if r.session == "" {
			r.session = r.id // else a session is named by its place in the file
		}
		for k := range r.content {
			r.content[k] = k + 1
		}
		s.rows = append(s.rows, r.with(i+1))
	}
}

// covering lets every bucket begin where the one before ends.
func (s *drawnService) covering() {
	s.buckets[0].InputLengthMin = 0
	for i := 1; i < len(s.buckets); i++ {
		s.buckets[i].InputLengthMin = *s.buckets[i-1].InputLengthMax + 1
	}
	s.buckets[len(s.buckets)-1].InputLengthMax = nil
	s.Cluster["buckets"] = s.buckets
}

// with is the service with other keys of `cluster:`; nil takes a key away.
func (s *drawnService) with(keys section) *drawnService {
	c := *s
	c.Cluster = maps.Clone(s.Cluster)
	maps.Copy(c.Cluster, keys)
	maps.DeleteFunc(c.Cluster, func(_ string, value any) bool { return value == nil })
	return &c
}

// simulate runs the service.
func (s *drawnService) simulate(t *rapid.T, tb testing.TB, o config.Options) *rundir.Run {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	dir := tb.TempDir()
	result := simulate(tb, config.Sources{
		File: write(tb, dir, "service.yaml", string(text)), Out: filepath.Join(dir, "run"),
		Trace: []string{writeRows(tb, dir, "rows.jsonl", s.rows, s.Trace["block_size"].(int))},
	}, o)
	run, err := rundir.Open(result.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// lines are the records as JSON, by request, without some columns.
func lines(tb testing.TB, run *rundir.Run, without ...string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for _, r := range records(tb, run) {
		var columns map[string]any
		text, err := r.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &columns)
		}
		if err == nil {
			for _, name := range without {
				delete(columns, name)
			}
			text, err = json.Marshal(columns)
		}
		if err != nil {
			tb.Fatal(err)
		}
		all[r.Request] = string(text)
	}
	return all
}

// same fails where two runs differ.
func same(t *rapid.T, got, want map[string]string) {
	for _, id := range slices.SortedFunc(maps.Keys(want), func(a, b string) int { return cmp.Compare(len(a), len(b)) }) {
		if got[id] != want[id] {
			t.Fatalf("%s\ngot  %s\nwant %s", id, got[id], want[id])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
}

// elsewhere are the columns that say where a request stood in its file, and what
// buckets there were.
var elsewhere = []string{"source_line", "task_id", "turn", "bucket", "length_bucket_match"}

// B16: a strict service of several buckets is several services, each with the
// requests of its range.
func TestBucketsAreIsolated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		whole := lines(t, s.simulate(rt, t, config.Options{}), elsewhere...)
		parts := map[string]string{}
		for _, b := range s.buckets {
			one := s.with(section{"buckets": nil, "num_instances": b.NumInstances})
			one.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool {
				return r.in < b.InputLengthMin || b.InputLengthMax != nil && r.in > *b.InputLengthMax
			})
			if len(one.rows) > 0 {
				maps.Copy(parts, lines(t, one.simulate(rt, t, config.Options{}), elsewhere...))
			}
		}
		maps.DeleteFunc(whole, func(id, line string) bool {
			_, routed := parts[id]
			return !routed && strings.Contains(line, `"no_bucket"`)
		})
		same(rt, whole, parts)
	})
}

// B17: one bucket over everything is no bucket.
func TestOneBucketOverEverythingIsAPool(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		n := s.buckets[0].NumInstances
		bucket := s.with(section{"buckets": []section{{"name": "default", "input_length_min": 0, "input_length_max": nil, "num_instances": n}}})
		a, b := bucket.simulate(rt, t, config.Options{}), s.with(section{"buckets": nil, "num_instances": n}).simulate(rt, t, config.Options{})
		sameFiles(t, a.Dir, b.Dir, allFiles...)
	})
}

var allFiles = []string{rundir.SummaryFile, rundir.RequestsFile, rundir.SamplesFile, rundir.RoutingFile}

// A policy that weighs nothing but the range is the strict one where every length
// has a bucket; so is one that spills from buckets which never are that full.
func TestWhoWeighsOnlyTheRangeIsStrict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		s.covering()
		strict := lines(t, s.simulate(rt, t, config.Options{}), "bucket_policy")
		for _, policy := range []section{
			{"mode": "bucket_score", "length_penalty_weight": 1, "load_weight": 0, "cache_weight": 0},
			{"mode": "spill", "spill_load": 1e9},
		} {
			same(rt, lines(t, s.with(section{"global_router": policy}).simulate(rt, t, config.Options{}), "bucket_policy"), strict)
		}
	})
}

// Tiers that are off change no byte.
func TestTiersThatAreOffAreNotThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		off := s.with(section{"cache": section{"l1_blocks": 0, "remote_gbps": 0, "load_policy": "cheaper", "remote_latency_us": 3}})
		a, b := off.simulate(rt, t, config.Options{}), s.with(section{"cache": nil}).simulate(rt, t, config.Options{})
		sameFiles(t, a.Dir, b.Dir, allFiles...)
	})
}

// How a run is made changes no byte.
func TestAServiceDoesNotDependOnHowItIsRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		all := routing.GlobalPolicies()
		s = s.with(section{"global_router": section{
			"mode":          all[rapid.IntRange(0, len(all)-1).Draw(rt, "global router")].Mode,
			"view_delay_ms": rapid.SampledFrom([]float64{0, 2.5}).Draw(rt, "view delay"),
		}})
		want := s.simulate(rt, t, config.Options{Workers: 1})
		for _, o := range []config.Options{{Workers: 4}, {Stepwise: true}} {
			sameFiles(t, s.simulate(rt, t, o).Dir, want.Dir, allFiles...)
		}
	})
}

// Every request ends once, buckets add up to the whole, the tiers of a request to its
// full blocks; nothing comes from another bucket, and host memory keeps its size.
func TestAServiceAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawService(rt)
		var transfers []cluster.Transfer
		run := s.simulate(rt, t, config.Options{Transfers: func(tr *cluster.Transfer) { transfers = append(transfers, *tr) }})
		checkSums(rt, &run.Summary, len(s.rows))
		size, all := int32(s.Trace["block_size"].(int)), records(t, run)
		for _, r := range all {
			tiers := &r.Tiers
			if sum := tiers.L0 + tiers.L1 + tiers.Remote + tiers.Miss; tiers.L0 >= 0 && sum != r.InputTokens/size {
				rt.Errorf("%s: %d blocks from all tiers, want %d", r.Request, sum, r.InputTokens/size)
			}
		}
		checkTransfers(rt, s, transfers, all)
		checkHosts(rt, t, run, s.Cluster["cache"].(section)["l1_blocks"].(int))
	})
}

func checkSums(t *rapid.T, s *metrics.Summary, rows int) {
	a := &s.Accounting
	if a.Offered != int64(rows) || a.Offered != a.Completed+a.Rejected+a.Failed+a.Cancelled+a.Unfinished {
		t.Errorf("%d rows: %+v", rows, *a)
	}
	var requests, completed, input, output int64
	for i := range s.PerBucket {
		b := &s.PerBucket[i]
		requests, completed, input, output = requests+b.Requests, completed+b.Completed, input+b.InputTokens, output+b.OutputTokens
	}
	if nowhere := a.Reasons["rejected"][metrics.NoBucket]; requests+nowhere != a.Offered ||
		completed != a.Completed || input != s.InputTokens || output != s.OutputTokens {
		t.Errorf("buckets: %d requests, %d completed, %d and %d tokens; all: %+v", requests, completed, input, output, *s)
	}
}

// checkTransfers holds transfers against what requests say they got: all come from
// an instance of their bucket, and what did not come counts as stale.
func checkTransfers(t *rapid.T, s *drawnService, transfers []cluster.Transfer, all []rundir.Record) {
	stale := make([]int32, len(all))
	for _, tr := range transfers {
		r := &all[tr.Row]
		in := slices.IndexFunc(s.buckets, func(b cluster.BucketSettings) bool { return b.Name == r.BucketName })
		if tr.Instance != r.Instance || tr.Source.Owner < 0 || int(tr.Source.Owner) >= s.buckets[in].NumInstances {
			t.Errorf("%s of bucket %s, which has %d instances: %+v", r.Request, r.BucketName, s.buckets[in].NumInstances, tr)
		}
		stale[tr.Row] += tr.Source.Blocks - tr.Moved
	}
	for i, r := range all {
		if r.Tiers.RemoteStale != stale[i] {
			t.Errorf("%s has %d stale blocks, its transfers %d", r.Request, r.Tiers.RemoteStale, stale[i])
		}
	}
}

// checkHosts reads the samples: nobody keeps more than there is room for.
func checkHosts(t *rapid.T, tb testing.TB, run *rundir.Run, size int) {
	f, err := os.Open(filepath.Join(run.Dir, rundir.SamplesFile))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	cells, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	column := slices.Index(cells[0], "l1_blocks_used")
	for _, line := range cells[1:] {
		if used, _ := strconv.Atoi(line[column]); used > size {
			t.Errorf("%d blocks in host memory for %d", used, size)
		}
	}
}

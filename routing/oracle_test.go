package routing_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// oracleCase is a case of the second implementation of spec/buckets.md.
type oracleCase struct {
	dir                            string
	Name, Input, Expected, Routing string
	Config                         struct {
		Trace struct {
			BlockSize int `json:"block_size"`
		}
		Engine struct {
			BlockSize  int     `json:"block_size"`
			MaxSeqs    int32   `json:"max_num_seqs"`
			Budget     int64   `json:"max_num_batched_tokens"`
			TokenBytes float64 `json:"kv_cache_bytes_per_token"`
		}
		Latency struct {
			PrefillMs float64 `json:"prefill_ms"`
		}
		Cluster struct {
			Router       routing.Settings
			GlobalRouter routing.GlobalSettings `json:"global_router"`
			Cache        struct {
				RemoteGbps      any     `json:"remote_gbps"` // a number or ".inf"
				RemoteLatencyUs float64 `json:"remote_latency_us"`
			}
		}
		Seed uint64
	}
}

// oracleCases are the cases with a routing log of the bundled set and of the folder
// that REPRISE_ORACLE names, relative to the module root.
func oracleCases(t *testing.T) (cases []*oracleCase) {
	t.Helper()
	roots := []string{filepath.Join("..", "testdata", "oracle")}
	if dir := os.Getenv("REPRISE_ORACLE"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join("..", dir)
		}
		roots = append(roots, dir)
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != "index.json" || filepath.Base(filepath.Dir(path)) != "buckets" {
				return err
			}
			var list []*oracleCase
			if err := json.Unmarshal(readFile(t, path), &list); err != nil {
				return err
			}
			for _, c := range list {
				if c.dir = filepath.Dir(path); c.Routing != "" {
					cases = append(cases, c)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return cases
}

// readFile reads a file, gzipped or not, with or without the suffix.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data
}

// lines decodes a file of JSON lines.
func lines[T any](t *testing.T, path string) (out []T) {
	t.Helper()
	for s := bufio.NewReader(bytes.NewReader(readFile(t, path))); ; {
		line, err := s.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			out = append(out, v)
		}
		if err != nil {
			return out
		}
	}
}

// Every line of the oracle's routing logs is repeated to the digit: the routers get
// the views that it logs and write the same line.
func TestRoutersAgreeWithTheOracle(t *testing.T) {
	cases := oracleCases(t)
	if len(cases) < 30 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.replay(t) })
	}
}

// replay repeats the decisions of a case.
func (c *oracleCase) replay(t *testing.T) {
	prompts := c.prompts(t)
	outstanding := c.outstanding(t)
	global := routing.NewGlobal(c.Config.Cluster.GlobalRouter)
	locals := map[int32]routing.Placement{}
	for n, line := range lines[json.RawMessage](t, filepath.Join(c.dir, c.Routing)) {
		var want routing.Decision
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		r := routing.Request{Row: int32(n), InputTokens: want.InputLength, Session: want.SessionID, Prompt: prompts[want.RequestID], Rank: -1}
		got := c.begin(&r, &want)
		if bucket := c.routeBucket(t, &r, global, &want); bucket >= 0 {
			if locals[bucket] == nil {
				locals[bucket] = routing.New(c.Config.Cluster.Router, c.Config.Seed)
			}
			c.routeInstance(t, &r, locals[bucket], &want, outstanding)
		}
		if diff := difference("", decode(t, got.AppendJSON(nil)), decode(t, line)); diff != "" {
			t.Fatalf("request %s: %s\n%s\nwant\n%s", want.RequestID, diff, got.AppendJSON(nil), line)
		}
	}
}

// begin starts the record of a decision with what no router has a say in.
func (c *oracleCase) begin(r *routing.Request, want *routing.Decision) *routing.Decision {
	r.Decision = &routing.Decision{
		TimeMs: want.TimeMs, RequestID: want.RequestID, SessionID: want.SessionID, InputLength: want.InputLength,
		GlobalMode: c.Config.Cluster.GlobalRouter.Mode, LocalMode: c.Config.Cluster.Router.Mode,
	}
	return r.Decision
}

// routeBucket routes to a bucket, given what the log says of them.
func (c *oracleCase) routeBucket(t *testing.T, r *routing.Request, global routing.GlobalRouter, want *routing.Decision) int32 {
	var views []routing.BucketView
	for _, b := range want.Buckets {
		v := &routingtest.Bucket{
			Is:     routing.Bucket{ID: b.ID, Name: b.Name, Min: b.Min, Max: routing.Unlimited, MaxSeqs: c.Config.Engine.MaxSeqs, BlockSize: int32(c.Config.Engine.BlockSize)},
			Has:    routing.Counts{Instances: b.Instances, QueueSum: b.QueueSum, QueueMax: b.QueueMax, Active: b.Active, BlocksUsed: b.BlocksUsed, BlocksTotal: b.BlocksTotal},
			Prefix: b.PredictedPrefix, Drain: b.DrainMs, Age: c.Config.Cluster.GlobalRouter.ViewDelayMs,
		}
		if b.Max != nil {
			v.Is.Max = *b.Max
		}
		views = append(views, v)
	}
	r.Decision.SeeBuckets(r, views)
	choice, err := global.RouteBucket(r, views)
	if err != nil {
		t.Fatal(err)
	}
	home, err := routing.Home(r.InputTokens, views)
	if err != nil {
		t.Fatal(err)
	}
	r.Decision.ChooseBucket(choice, home)
	return choice.Bucket
}

// routeInstance routes inside the chosen bucket, given what the log says of its
// instances and what is known besides.
func (c *oracleCase) routeInstance(t *testing.T, r *routing.Request, local routing.Placement, want *routing.Decision, outstanding func(r *routing.Request, atMs float64, instance int32) int) {
	if want.ChosenBucket == nil {
		t.Fatalf("request %s goes to a bucket, want %s", want.RequestID, want.GlobalReason)
	}
	chosen := want.Buckets[*want.ChosenBucket]
	v := c.view(r, &chosen)
	for _, i := range want.Instances {
		v.Loads = append(v.Loads, engine.Load{
			Waiting: int(i.Queue), Running: int(i.Running), BlocksUsed: int(i.BlocksUsed), BlocksTotal: int(chosen.BlocksTotal) / len(want.Instances),
			PrefillTokens: outstanding(r, want.TimeMs, i.ID),
		})
		v.Prefixes = append(v.Prefixes, i.Prefix)
		held := 0
		if i.Probed != nil {
			held = int(*i.Probed) * v.Block
		}
		v.Held = append(v.Held, held)
	}
	announce(local, v)
	r.Decision.SeeInstances(v, c.Config.Cluster.Router.LoadAlpha)
	choice, _, err := local.Place(r, v, want.TimeMs)
	if err != nil {
		t.Fatal(err)
	}
	r.Decision.ChooseInstance(choice, want.BestAvailable)
}

// view is a bucket without instances.
func (c *oracleCase) view(r *routing.Request, b *routing.BucketCandidate) *routingtest.View {
	e, cache := &c.Config.Engine, &c.Config.Cluster.Cache
	v := &routingtest.View{
		Block: e.BlockSize, BlockKeys: r.Prompt.Keys(nil, e.BlockSize), Known: b.PredictedPrefix,
		Price: func(tokens int64) float64 { // of fixed timing, spec/buckets.md 3
			return float64((tokens+e.Budget-1)/e.Budget) * c.Config.Latency.PrefillMs
		},
	}
	if gbps, ok := cache.RemoteGbps.(float64); ok && gbps > 0 {
		blockBytes := float64(e.BlockSize) * e.TokenBytes
		v.Fetch = func(blocks int32) float64 {
			return cache.RemoteLatencyUs/1000 + float64(blocks)*blockBytes/(gbps*1e6)
		}
	}
	return v
}

// prompts are the prompts of a case by request id.
func (c *oracleCase) prompts(t *testing.T) map[string]*token.Seq {
	type row struct {
		Length  int      `json:"input_length"`
		IDs     []uint64 `json:"hash_ids"`
		Request string   `json:"request_id"`
		Session string   `json:"session_id"`
	}
	prompts := map[string]*token.Seq{}
	for n, r := range lines[row](t, filepath.Join(c.dir, c.Input)) {
		name := cmp.Or(r.Request, fmt.Sprintf("request_%d:0", n+1))
		started := (r.Length + c.Config.Trace.BlockSize - 1) / c.Config.Trace.BlockSize
		prompts[name] = token.Blocks(r.IDs[:started], c.Config.Trace.BlockSize, r.Length, 0)
	}
	return prompts
}

// outstanding finds out the prompt tokens that an instance has not computed, which the
// log does not say, from when the requests before were admitted and got their first
// tokens. It is for cases without preemption whose prompts fit a pass.
func (c *oracleCase) outstanding(t *testing.T) func(r *routing.Request, atMs float64, instance int32) int {
	if mode := c.Config.Cluster.Router.Mode; mode != "least_tokens" && mode != "estimated_ttft" {
		return func(*routing.Request, float64, int32) int { return 0 }
	}
	type life struct {
		Instance int32
		AdmitMs  float64 `json:"first_admit_ms"`
		FirstMs  float64 `json:"first_token_ms"`
		Input    int     `json:"input_tokens"`
		Cached   int     `json:"cached_tokens"`
	}
	lives := lines[life](t, filepath.Join(c.dir, c.Expected))
	return func(r *routing.Request, atMs float64, instance int32) (tokens int) {
		for _, l := range lives[:r.Row] {
			switch {
			case l.Instance != instance || l.FirstMs <= atMs:
			case l.AdmitMs < atMs:
				tokens += l.Input - l.Cached
			default:
				tokens += l.Input
			}
		}
		return tokens
	}
}

func decode(t *testing.T, line []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// difference is where two JSON values differ, "" if nowhere. Numbers may differ by
// 1e-12.
func difference(at string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			return fmt.Sprintf("%s: %v, want %v", at, got, want)
		}
		for key := range want {
			if diff := difference(at+"."+key, got[key], want[key]); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return fmt.Sprintf("%s: %v, want %v", at, got, want)
		}
		for i := range want {
			if diff := difference(fmt.Sprintf("%s[%d]", at, i), got[i], want[i]); diff != "" {
				return diff
			}
		}
		return ""
	case float64:
		if got, ok := got.(float64); ok && math.Abs(got-want) <= 1e-12 {
			return ""
		}
	default:
		if got == want {
			return ""
		}
	}
	return fmt.Sprintf("%s: %v, want %v", at, got, want)
}

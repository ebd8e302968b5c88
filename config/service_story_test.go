package config_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/rundir"
)

// TestServiceStories plays the scenarios of spec/buckets.md 9, from the configuration
// to the files of a run.
func TestServiceStories(t *testing.T) {
	scenario.Play(t, "testdata/service/*.txt", serviceLanguage, func() *serviceStory { return &serviceStory{dir: t.TempDir()} })
}

// serviceStory is a configuration with requests, and the run that was made of them.
type serviceStory struct {
	dir  string
	file string
	set  []string // what the configuration leaves unsaid
	rows []row
	run  *rundir.Run
}

// usual is the set-up of the scenarios.
var usual = []string{
	"trace.block_size=4", "engine.block_size=4", "engine.num_gpu_blocks=1000", "engine.max_num_seqs=64",
	"engine.vllm.async_scheduling=false", "engine.kv_cache_bytes_per_token=131072",
	"latency.model=fixed", "latency.prefill_ms=100", "latency.decode_ms=10",
	"cluster.meta_store.ttl_seconds=1000",
}

var serviceLanguage = scenario.Language[*serviceStory]{
	// A configuration; what it leaves unsaid is as usual. Answers with the buckets and
	// their instances, or with what is wrong.
	//
	//	service
	//	cluster:
	//	  buckets:
	//	    - {name: all, num_instances: 2}
	//	----
	//	all 0.. × 2
	"service": (*serviceStory).service,

	// The same configuration with other values.
	//
	//	again cluster.num_instances=3
	"again": (*serviceStory).again,

	// Requests, one a line: a name, at=ms, in=tokens, out=tokens (1 if nothing is said).
	// as=A: its prompt begins like that of A, as far as A's goes.
	//
	//	requests
	//	A at=0 in=16
	//	B at=200 in=12 as=A
	"requests": (*serviceStory).requests,

	// The requests run. A line each: where it went, and by hits in which tiers; when it
	// was admitted and got its tokens. With --on-unroutable reject if asked to.
	//
	//	run
	//	----
	//	A: short/0, home; blocks: 4 computed; admitted 0, token at 100
	"run": (*serviceStory).play,

	// How a request was routed: the global router's candidates, then the local one's.
	//
	//	decision B
	"decision": (*serviceStory).decision,

	// What has become of all requests.
	//
	//	totals
	//	----
	//	offered 7: completed 5, rejected 2 (1 of them without a bucket)
	"totals": (*serviceStory).totals,

	// The first rows of the conversation trace run.
	//
	//	conversation first=300
	"conversation": (*serviceStory).conversation,
}

func (s *serviceStory) service(t *testing.T, td *datadriven.TestData) string {
	s.file = write(t, s.dir, "story.yaml", td.Input)
	var said map[string]any
	if err := yaml.Unmarshal([]byte(td.Input), &said); err != nil {
		td.Fatalf(t, "%v", err)
	}
	s.set = slices.DeleteFunc(slices.Clone(usual), func(set string) bool {
		key, _, _ := strings.Cut(set, "=")
		path := strings.Split(key, ".")
		if path[0] == "latency" { // a model takes the place of a model
			path = path[:1]
		}
		return says(said, path)
	})
	return s.buckets()
}

// says is whether a section has a key.
func says(section map[string]any, path []string) bool {
	value, ok := section[path[0]]
	if inner, deeper := value.(map[string]any); deeper && len(path) > 1 {
		return says(inner, path[1:])
	}
	return ok
}

func (s *serviceStory) again(t *testing.T, td *datadriven.TestData) string {
	for _, arg := range td.CmdArgs {
		s.set = append(s.set, arg.String())
	}
	return s.buckets()
}

// buckets tells the pools of the configuration, or what is wrong with it.
func (s *serviceStory) buckets() string {
	c, err := config.Load(s.sources("rows.jsonl"))
	if err != nil {
		return s.refusal(err)
	}
	if len(c.Cluster.Buckets) == 0 {
		return fmt.Sprintf("one pool × %d\n", *c.Cluster.NumInstances)
	}
	var b strings.Builder
	for _, bucket := range c.Cluster.Buckets {
		fmt.Fprintf(&b, "%s %d..", bucket.Name, bucket.InputLengthMin)
		if bucket.InputLengthMax != nil {
			fmt.Fprint(&b, *bucket.InputLengthMax)
		}
		fmt.Fprintf(&b, " × %d\n", bucket.NumInstances)
	}
	return b.String()
}

// sources are those of the configuration on a trace.
func (s *serviceStory) sources(trace string) config.Sources {
	return config.Sources{File: s.file, Set: append(slices.Clone(s.set), "output.routing_log=true"),
		Trace: []string{trace}, Out: filepath.Join(s.dir, "run")}
}

// refusal is an error without the folder of the story.
func (s *serviceStory) refusal(err error) string {
	return "refused: " + strings.ReplaceAll(err.Error(), s.dir+"/", "") + "\n"
}

func (s *serviceStory) requests(t *testing.T, td *datadriven.TestData) string {
	s.rows = nil
	for line := range strings.Lines(td.Input) {
		words := strings.Fields(line)
		r := row{id: words[0], out: 1}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			var err error
			switch key {
			case "at":
				r.atMs, err = strconv.ParseFloat(value, 64)
			case "in":
				r.in, err = strconv.Atoi(value)
			case "out":
				r.out, err = strconv.Atoi(value)
			case "as":
				i := slices.IndexFunc(s.rows, func(r row) bool { return r.id == value })
				r.content = slices.Clone(s.rows[i].content)
			default:
				err = fmt.Errorf("unknown word %s", word)
			}
			if err != nil {
				td.Fatalf(t, "%v", err)
			}
		}
		s.rows = append(s.rows, r.with(len(s.rows)+1))
	}
	return ""
}

func (s *serviceStory) play(t *testing.T, td *datadriven.TestData) string {
	c, err := config.Load(s.sources("rows.jsonl"))
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	sources := s.sources(writeRows(t, s.dir, "rows.jsonl", s.rows, *c.Trace.BlockSize))
	td.MaybeScanArgs(t, "on-unroutable", &sources.OnUnroutable)
	if refused := s.simulate(t, sources); refused != "" {
		return refused
	}
	return tellRequests(t, s.run)
}

// simulate runs a configuration; refused is why it may not run.
func (s *serviceStory) simulate(t *testing.T, sources config.Sources) (refused string) {
	sim, err := config.Prepare(context.Background(), load(t, sources), config.Options{Overwrite: true})
	if err != nil {
		return s.refusal(err)
	}
	result, err := sim.Run(context.Background())
	if err == nil {
		s.run, err = rundir.Open(result.Dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

func (s *serviceStory) conversation(t *testing.T, td *datadriven.TestData) string {
	var first string
	td.ScanArgs(t, "first", &first)
	sources := s.sources(filepath.Join("..", "bench", "testdata", "conversation_trace.jsonl.gz"))
	sources.Set = append(sources.Set, "limits.requests="+first)
	if refused := s.simulate(t, sources); refused != "" {
		return refused
	}
	return tellBuckets(s.run) + s.totals(t, td)
}

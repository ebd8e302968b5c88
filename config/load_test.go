package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/config/keys"
)

// write writes a file and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPathsAreRelativeToWhereTheyStand(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "c.yaml", "trace: {path: [a.jsonl, ../b.jsonl]}\noutput: {dir: run}\n")
	join := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		sources config.Sources
		path    []string
		out     string
	}{
		{config.Sources{File: file}, []string{join("a.jsonl"), join("../b.jsonl")}, join("run")},
		{config.Sources{File: file, Trace: []string{"c.jsonl"}, Out: "here"}, []string{"c.jsonl"}, "here"},
		{config.Sources{File: file, Set: []string{"trace.path.1=d.jsonl"}}, []string{join("a.jsonl"), "d.jsonl"}, join("run")},
		{config.Sources{File: file, Trace: []string{"-"}, Set: []string{"output.dir=there"}}, []string{"-"}, "there"},
	} {
		got, err := config.Load(c.sources)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Trace.Path, c.path) || *got.Output.Dir != c.out {
			t.Errorf("%+v: %q, %q; want %q, %q", c.sources, got.Trace.Path, *got.Output.Dir, c.path, c.out)
		}
	}
}

func TestNothingButATraceMeansDefaults(t *testing.T) {
	got, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Defaults()
	want.Trace.Path = []string{"t.jsonl"}
	want.Engine.Rules = "vllm-0.32"
	one := 1
	want.Cluster.NumInstances = &one
	if a, b := asJSON(t, got), asJSON(t, &want); a != b {
		t.Fatalf("%s\nwant %s", a, b)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A configuration that has been resolved reads back as itself, as run.json needs.
func TestResolvedConfigurationsReadBack(t *testing.T) {
	for _, set := range [][]string{
		nil,
		{"engine.rules=aisimulate", "engine.aisimulate.preemption_mode=fifo", "engine.max_model_len=4096"},
		{"arrival.mode=concurrency", "arrival.concurrency=3", "sla={ttft_ms: 100.25, itl_ms: 1e-3}"},
		{"latency={model: fixed, prefill_ms: 7, decode_ms: 0.1}", "limits={requests: 0, max_sim_time_ms: 1e9}", "seed=-1"},
	} {
		first, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, t.TempDir(), "c.json", asJSON(t, first))
		again, err := config.Load(config.Sources{File: file, Trace: []string{"t.jsonl"}})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := asJSON(t, again), asJSON(t, first); a != b {
			t.Errorf("%s\nwant %s", a, b)
		}
	}
}

// Every word that a key does not allow is refused by the part whose key it is.
func TestWordsThatAreNotAllowedAreRefused(t *testing.T) {
	visit(keys.Walk(config.Defaults()), func(k keys.Key) {
		if k.Enum == nil {
			return
		}
		rules := "engine.rules=vllm"
		if strings.HasPrefix(k.Path, "engine.aisimulate.") {
			rules = "engine.rules=aisimulate"
		}
		_, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}, Set: []string{rules, k.Path + "=bogus"}})
		if err == nil || !strings.Contains(err.Error(), k.Path+": bogus: want") {
			t.Errorf("%s=bogus: %v", k.Path, err)
		}
		for _, word := range k.Enum {
			if _, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}, Set: []string{k.Path + "='" + word + "'"}}); err != nil &&
				strings.Contains(err.Error(), k.Path+": "+word) {
				t.Errorf("%s=%s: %v", k.Path, word, err)
			}
		}
	})
}

func visit(all []keys.Key, f func(keys.Key)) {
	for _, k := range all {
		f(k)
		visit(k.Keys, f)
	}
}

func TestKeysThatAreNotBuiltSaySo(t *testing.T) {
	known := map[string]bool{}
	visit(keys.Walk(config.Defaults()), func(k keys.Key) { known[k.Path] = true })
	for _, path := range config.Planned() {
		if known[path] {
			t.Errorf("%s is built and still among the planned keys", path)
		}
		_, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}, Set: []string{path + "=1"}})
		if err == nil || !strings.Contains(err.Error(), path+": not built yet") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	visit(keys.Walk(config.Defaults()), func(k keys.Key) {
		if k.Doc == "" {
			t.Errorf("%s has no doc tag", k.Path)
		}
	})
}

func TestTheReferenceIsWhatTheTypesSay(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != config.Reference() {
		t.Error("docs/configuration.md is not what config.Reference makes: run make docs")
	}
}

// compiled is the schema of configurations.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The schema accepts what Load accepts, and refuses what is wrong about keys and
// types.
func TestTheSchemaDescribesConfigurations(t *testing.T) {
	s := compiled(t)
	examples, err := filepath.Glob("../examples/*.yaml")
	nested, _ := filepath.Glob("../examples/*/*.yaml")
	if examples = append(examples, nested...); err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	validate := func(text []byte) error {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(v)
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Sources{File: path}); err != nil {
			if _, err := config.LoadSpec(path, nil, nil); err != nil {
				t.Errorf("%s is neither a configuration nor the description of a trace: %v", path, err)
			}
			continue
		}
		if err := validate(text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	defaults, err := json.Marshal(config.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(defaults); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for _, wrong := range []string{"engine: {blok_size: 5}", "seed: 1.5", "arrival: {mode: bogus}", "trace: {path: 5}", "sla: 7", "engine: {max_model_len: x}"} {
		if validate([]byte(wrong)) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}

func TestDescriptionsOfTracesAreReadAsStrictly(t *testing.T) {
	file := write(t, t.TempDir(), "s.yaml", "tasks: 5\ninput: {distribution: fixed, valu: 3}\nrate: 5\n")
	_, err := config.LoadSpec(file, nil, []string{"turns.distribution=fixd"})
	want := `4 problems in the configuration:
  F:2:30: input.valu: unknown key, did you mean input.value?
      keys in input: distribution, max, mean, min, range_ratio, std, value, values, weights
  F:3:1: rate: unknown key, did you mean arrival.rate?
      keys at the top: arrival, block_size, input, keep_output, output, prefix_groups, seed,
      shared_prefix_ratio, system_prefix_tokens, tasks, think, turn_input, turns
  F:2:8: input.value: not set: want a value: fixed needs it
  --set turns.distribution=fixd: turns.distribution: fixd: want one of empirical, exponential, fixed, lognormal, normal, uniform`
	if got := strings.ReplaceAll(err.Error(), file, "F"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	spec, err := config.LoadSpec("", nil, []string{"tasks=7", "arrival={process: constant, rate: 2}", "arrival.rate=3"})
	if err != nil || spec.Tasks != 7 || spec.Seed != 42 || *spec.Arrival.Rate != 3 {
		t.Errorf("%+v, %v", spec, err)
	}
}

func TestALargeFileIsNoConfiguration(t *testing.T) {
	file := write(t, t.TempDir(), "trace.jsonl", strings.Repeat(`{"timestamp": 0}`+"\n", 1<<17))
	if _, err := config.Load(config.Sources{File: file}); err == nil || !strings.Contains(err.Error(), "--trace") {
		t.Fatal(err)
	}
}

// Defaults are shared by nobody: changing one copy changes no other.
func TestDefaultsAreFresh(t *testing.T) {
	c, err := config.Load(config.Sources{Trace: []string{"t.jsonl"}, Set: []string{"sla.ttft_ms=5", "cluster.num_instances=9"}})
	if err != nil || *c.Cluster.NumInstances != 9 {
		t.Fatal(c, err)
	}
	if d := config.Defaults(); d.SLA != nil || !reflect.DeepEqual(d.Cluster, config.Defaults().Cluster) || d.Cluster.NumInstances != nil {
		t.Fatalf("%+v", d)
	}
}

// FuzzLoad: a configuration is loaded or refused with a reason.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"", "trace: {path: x}", "engine: {rules: aisimulate, block_size: 1}", `{"schema":"reprise.run","version":1,"config":{}}`,
		"arrival: {mode: concurrency, concurrency: 2}\nsla: {e2e_ms: 1}\n", "trace: {path: [a, b]}\noutput: {dir: ''}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Load(config.Sources{File: write(t, t.TempDir(), "c.yaml", text)})
		if err != nil {
			return
		}
		if err := c.Resolve(); err != nil {
			t.Fatalf("accepted, and then refused: %v", err)
		}
	})
}

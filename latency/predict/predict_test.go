package predict

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/capacity"
	"github.com/reprise-sim/reprise/setting"
)

var one = latency.Deployment{Backend: "vllm", TensorParallel: 1, DataParallel: 1}

func settings(change func(*latency.Settings)) latency.Settings {
	s := latency.Defaults()
	s.Model, s.GPU, s.ModelName = "roofline", "h100-sxm", "llama-3.1-8b"
	change(&s)
	return s
}

func TestSettingsBecomeAModelThatSaysWhatItPredicts(t *testing.T) {
	m, err := latency.NewFor(settings(func(*latency.Settings) {}), one)
	if err != nil {
		t.Fatal(err)
	}
	if want := "roofline llama-3.1-8b on h100-sxm TP1, vllm (speedup 1)"; m.Name() != want {
		t.Errorf("%q, want %q", m.Name(), want)
	}
	for _, part := range []string{"llama-3.1-8b", "h100-sxm", "held out"} {
		if !strings.Contains(latency.Predicts(m), part) {
			t.Errorf("%q does not say %q", latency.Predicts(m), part)
		}
	}
}

// A GPU and a language model may be files of the user's own.
func TestFilesTakeThePlaceOfTheCatalogue(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gpu := write("mine.csv", "name,aliases,generation,bf16_tflops,hbm_gbps,memory_gib,memory_bytes,domain,source\nmine,,hopper,500,2000,40,43e9,8,me\n")
	write("config.json", `{"model_type":"llama","num_hidden_layers":2,"hidden_size":256,"vocab_size":1000,"num_attention_heads":4,"intermediate_size":512}`)
	m, err := latency.NewFor(settings(func(s *latency.Settings) { s.GPU, s.ModelName = gpu, dir }), one)
	if err != nil || !strings.HasPrefix(m.Name(), "roofline "+filepath.Base(dir)+" on mine") {
		t.Error(m, err)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	for field, change := range map[string]func(*latency.Settings){
		"gpu":                  func(s *latency.Settings) { s.GPU = "h900" },
		"model_name":           func(s *latency.Settings) { s.ModelName = "gpt-9" },
		"weights":              func(s *latency.Settings) { s.Weights = "fp3" },
		"kv_cache_dtype":       func(s *latency.Settings) { s.KVCache = "int1" },
		"routing":              func(s *latency.Settings) { s.Routing = "hot" },
		"calibration":          func(s *latency.Settings) { s.Calibration = "on" },
		"engine":               func(s *latency.Settings) { s.Engine = "none" },
		"kernels":              func(s *latency.Settings) { s.Kernels = "nowhere.csv" },
		"expert_parallel_size": func(s *latency.Settings) { s.ExpertGPUs = -1 },
		"path":                 func(s *latency.Settings) { s.Path = "x" },
	} {
		_, err := latency.NewFor(settings(change), one)
		if found := setting.All(err); len(found) != 1 || found[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestMemoryIsThatOfTheSettings(t *testing.T) {
	m := capacity.Settings{Utilization: 0.9, BlockSize: 16, MaxTokens: 2048, MaxSeqs: 256}
	b, err := Memory(settings(func(s *latency.Settings) { s.GPU = "rtx-4090" }), one, m)
	if err != nil || b.Blocks < 2540 || b.Blocks > 2640 { // a real server has 2,588
		t.Errorf("%+v, %v", b, err)
	}
	if text := Explain(&b, 16); !strings.Contains(text, "GB usable − weights 16.1") {
		t.Error(text)
	}
	_, err = Memory(settings(func(s *latency.Settings) { s.ModelName = "llama-3.1-70b" }), one, m)
	if err == nil || !strings.Contains(err.Error(), "it fits with tensor parallelism over") {
		t.Error(err)
	}
}

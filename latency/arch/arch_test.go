package arch

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/latency/precision"
)

// The shapes in config.json and those of the catalogue are the same, family by family.
func TestConfigurationsAreTheModelsOfTheCatalogue(t *testing.T) {
	paths, err := filepath.Glob("testdata/configs/*.json")
	if err != nil || len(paths) < 14 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadConfig(path, name, f)
		f.Close()
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := describe(got), describe(want); a != b {
			t.Errorf("%s:\n%s\nwant\n%s", name, a, b)
		}
	}
}

// describe prints what a pass and the memory depend on.
func describe(m *Model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "hidden %d vocab %d tied %v weights %s total %d active %d\n", m.Hidden, m.Vocab, m.TiedHead, m.Weights, m.Total(), m.Active())
	for i := range m.Layers {
		l := &m.Layers[i]
		a := l.Attention
		fmt.Fprintf(&b, "%d × heads %d/%d dim %d window %d gated %v ffn %+v", l.Count, a.Heads, a.KVHeads, a.HeadDim, a.Window, a.Gated, l.FFN)
		if a.Latent != nil {
			a.KVHeads = 0
			b.Reset()
			fmt.Fprintf(&b, "hidden %d weights %s total %d: latent %+v heads %d", m.Hidden, m.Weights, m.Total(), *a.Latent, a.Heads)
		}
		if a.Index != nil {
			fmt.Fprintf(&b, " index %+v", *a.Index)
		}
		if a.Linear != nil {
			fmt.Fprintf(&b, " linear %+v", *a.Linear)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The table of spec/latency.md 2.2: parameters in 10^9, and KiB of a token in a bf16
// cache.
func TestParametersAreThoseOfTheTable(t *testing.T) {
	for _, c := range []struct {
		name               string
		total, active, kib float64
	}{
		{"llama-3.1-8b", 8.03, 7.50, 128}, {"llama-3.1-70b", 70.55, 69.50, 320}, {"llama-3.1-405b", 405.9, 403.8, 504},
		{"llama-2-7b", 6.74, 6.61, 512}, {"llama-2-70b", 68.98, 68.7, 320}, {"mistral-nemo-12b", 12.25, 11.58, 160},
		{"yi-34b", 34.39, 33.9, 240}, {"qwen2.5-7b", 7.62, 7.07, 56}, {"qwen3-8b", 8.19, 7.57, 144}, {"qwen3-14b", 14.77, 13.99, 160},
		{"qwen3-32b", 32.76, 31.98, 256}, {"qwen3-30b-a3b", 30.53, 3.04, 96}, {"qwen3-235b-a22b", 235.1, 21.6, 188},
		{"qwen3.6-35b-a3b", 34.66, 2.95, 20}, {"qwen3.5-397b-a17b", 396.3, 16.3, 30}, {"deepseek-v3", 671.0, 36.6, 68.6},
		{"kimi-k2", 1026, 31.7, 68.6}, {"glm-5", 743, 40, 87.8}, {"minimax-m2.5", 228.7, 10.4, 248},
		{"gpt-oss-120b", 116.8, 5.13, 72}, {"gpt-oss-20b", 20.9, 3.6, 48}, {"mixtral-8x7b", 46.70, 12.75, 128},
		{"mixtral-8x22b", 140.6, 39.0, 224}, {"llama-4-scout", 107.8, 16.1, 192},
	} {
		m, err := Find(c.name)
		if err != nil {
			t.Error(err)
			continue
		}
		total, active, kib := float64(m.Total())/1e9, float64(m.Active())/1e9, m.KVBytesPerToken(precision.BF16)/1024
		if math.Abs(total/c.total-1) > 0.005 || math.Abs(active/c.active-1) > 0.03 || math.Abs(kib/c.kib-1) > 0.005 {
			t.Errorf("%s: %.2f total, %.2f active, %.1f KiB; want %v, %v, %v", c.name, total, active, kib, c.total, c.active, c.kib)
		}
	}
}

// What is not understood is refused by the name of the field.
func TestFieldsThatAreNotUnderstoodAreRefusedByName(t *testing.T) {
	good := `"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"vocab_size":100,"num_attention_heads":4,"intermediate_size":128`
	for _, c := range []struct{ text, want string }{
		{`{}`, `c.json: model_type: "": want one of`},
		{`{"model_type":"mamba2"}`, `c.json: model_type: "mamba2": want one of`},
		{`{` + good + `,"attention_sinks":4}`, "c.json: attention_sinks: 4: want a field that is understood"},
		{`{` + good + `,"num_key_value_heads":3}`, "heads 4 over key/value heads 3: want sizes above 0 that fit each other"},
		{`{` + good + `,"num_key_value_heads":2.5}`, "c.json: num_key_value_heads: 2.5: want a whole number"},
		{`{` + good + `,"hidden_act":"relu"}`, "c.json: hidden_act: relu: want an activation with a gate"},
		{`{` + good + `,"layer_types":["full_attention"]}`, "c.json: layer_types: 1 entries: want one for each of 2 layers"},
		{`{` + good + `,"layer_types":["full_attention","mamba"]}`, `c.json: layer_types: "mamba": want full_attention`},
		{`{` + good + `,"quantization_config":{"quant_method":"aqlm"}}`, `c.json: quantization_config.quant_method: "aqlm": want fp8`},
		{`{"model_type":"qwen3_moe","num_hidden_layers":2,"hidden_size":64,"vocab_size":9,"num_attention_heads":4,"num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":8,"mlp_only_layers":[0]}`,
			"c.json: mlp_only_layers: [0]: want none"},
		{`{"model_type":"llama","hidden_size":64,"vocab_size":100,"num_attention_heads":4,"intermediate_size":128}`, "c.json: num_hidden_layers: missing: want a whole number"},
		{`{` + good + `} {}`, "c.json: want one JSON object and nothing behind it"},
		{`[1]`, "c.json: json: cannot unmarshal array"},
	} {
		_, err := ReadConfig("c.json", "c", strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := ReadConfig("c.json", "c", strings.NewReader("{"+good+"}")); err != nil {
		t.Error(err)
	}
}

// Formats print as they are read.
func TestWeightsReadBackAsTheyPrint(t *testing.T) {
	for _, text := range []string{"bf16", "fp8", "fp8-block", "nvfp4 attention=bf16", "mxfp4 attention=bf16 mlp=fp8", "int4 shared-experts=bf16 head=fp8"} {
		w, err := ParseWeights(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseWeights(w.String())
		if err != nil || again != w {
			t.Errorf("%q prints as %q: %v", text, w, err)
		}
	}
	for _, text := range []string{"", "fp9", "fp8 attention", "fp8 brain=bf16", "fp8 mlp=many"} {
		if _, err := ParseWeights(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestModelsAreFoundByAliasAndOrganisation(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"} {
		if m, err := Find(name); err != nil || m.Name != "llama-3.1-8b" {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := Find("llama-9"); err == nil || !strings.Contains(err.Error(), `model "llama-9": want one of`) {
		t.Error(err)
	}
	for _, m := range All() {
		if m.Source == "" {
			t.Errorf("%s has no source", m.Name)
		}
	}
}

// Whatever a config.json holds, it is read or refused; what is read has parameters.
func FuzzReadConfig(f *testing.F) {
	paths, _ := filepath.Glob("testdata/configs/*.json")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadConfig("c.json", "c", bytes.NewReader(text))
		if err != nil {
			return
		}
		if m.Depth() < 1 || m.Total() <= 0 || m.Active() > m.Total()+int64(m.Vocab)*int64(m.Hidden) {
			t.Errorf("%d layers, %d parameters, %d active", m.Depth(), m.Total(), m.Active())
		}
	})
}

// Rows of models are read or refused.
func FuzzReadModels(f *testing.F) {
	f.Add(builtIn)
	f.Add([]byte("name,layers\nx,1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readCSV("models.csv", text)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.model.Depth() < 1 || e.names[0] != strings.ToLower(e.model.Name) {
				t.Errorf("%v: %+v", e.names, e.model)
			}
		}
	})
}

package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// families are the architectures that are understood, by model_type: how the fields
// of each are read beside those that all have.
var families = map[string]func(f *fields, s *shape){
	"llama":         dense,
	"mistral":       dense,
	"qwen2":         dense,
	"qwen3":         dense,
	"phi3":          dense,
	"gemma3":        dense,
	"mixtral":       localExperts,
	"minimax_m2":    localExperts,
	"gpt_oss":       localExperts,
	"qwen3_moe":     qwenExperts,
	"qwen3_vl_moe":  qwenExperts,
	"qwen3_next":    qwenHybrid,
	"qwen3_5_moe":   qwenHybrid,
	"llama4":        llama4,
	"deepseek_v2":   deepseek,
	"deepseek_v3":   deepseek,
	"deepseek_v32":  deepseek,
	"kimi_k2":       deepseek,
	"kimi_k25":      deepseek,
	"glm_moe_dsa":   deepseek,
	"glm4_moe_lite": deepseek,
	"glm4_moe":      denseThenExperts,
}

// Families lists the model types that [ReadConfig] understands.
func Families() []string { return slices.Sorted(maps.Keys(families)) }

// shape reads all fields that state the shape.
func (f *fields) shape(name string) *shape {
	s := &shape{name: name, source: f.file, matrices: 3}
	kind := strings.TrimSuffix(f.text("model_type"), "_text")
	read, known := families[kind]
	if !known {
		f.fail("model_type", fmt.Sprintf("%q", kind), "one of "+strings.Join(Families(), ", "))
		return s
	}
	s.layers, s.hidden, s.vocab = f.number("num_hidden_layers"), f.number("hidden_size"), f.number("vocab_size")
	s.heads = f.number("num_attention_heads")
	s.kvHeads = f.optional(s.heads, "num_key_value_heads")
	s.headDim = f.optional(0, "head_dim")
	if s.headDim == 0 && s.heads > 0 { // not so in general: spec/latency.md 2.2
		s.headDim = s.hidden / s.heads
	}
	s.tied = f.flag("tie_word_embeddings", kind == "gemma3")
	read(f, s)
	f.windows(s)
	s.weights = f.weights()
	for _, field := range []string{"hidden_act", "hidden_activation"} {
		if act := f.text(field); act != "" && !slices.Contains(gates, act) {
			f.fail(field, act, "an activation with a gate: "+strings.Join(gates, ", "))
		}
	}
	return s
}

// gates are activations of MLPs with three matrices, which all families here have.
var gates = []string{"silu", "swish", "gelu_pytorch_tanh", "gelu_tanh"}

// dense reads a stack of equal layers with an MLP.
func dense(f *fields, s *shape) { s.mlp = f.number("intermediate_size") }

// localExperts reads experts in every layer, whose width is that of an MLP.
func localExperts(f *fields, s *shape) {
	s.experts, s.expertWidth = f.number("num_local_experts"), f.number("intermediate_size")
	s.topK = f.number("num_experts_per_tok", "experts_per_token")
	f.only("shared_intermediate_size", 0, "this family has no shared expert")
}

// qwenExperts reads the experts of the Qwen families.
func qwenExperts(f *fields, s *shape) {
	s.experts, s.topK = f.number("num_experts"), f.number("num_experts_per_tok")
	s.expertWidth = f.number("moe_intermediate_size")
	s.sharedWidth = f.optional(0, "shared_expert_intermediate_size")
	f.optional(0, "intermediate_size") // of layers without experts, which are refused
	f.only("decoder_sparse_step", 1, "experts in every layer")
	var without []int
	if f.get("mlp_only_layers", &without, "a list of layers") && len(without) > 0 {
		f.fail("mlp_only_layers", fmt.Sprint(without), "none")
	}
}

// qwenHybrid reads full attention in every n-th layer, linear attention in the
// others.
func qwenHybrid(f *fields, s *shape) {
	qwenExperts(f, s)
	s.gated = f.flag("attn_output_gate", true)
	s.linear = &Linear{
		KeyHeads: f.number("linear_num_key_heads"), ValueHeads: f.number("linear_num_value_heads"),
		KeyDim: f.number("linear_key_head_dim"), ValueDim: f.number("linear_value_head_dim"), Conv: f.optional(4, "linear_conv_kernel_dim"),
	}
	f.period(s, "full_attention_interval", 4, linear)
}

// llama4 reads experts in every n-th layer beside a shared one, and attention in
// chunks, counted as a window of that size, in three of four layers.
func llama4(f *fields, s *shape) {
	s.experts, s.topK = f.number("num_local_experts"), f.number("num_experts_per_tok")
	s.expertWidth = f.number("intermediate_size")
	s.sharedWidth = s.expertWidth
	s.moeEvery, s.denseMLP = f.optional(1, "interleave_moe_layer_step"), f.optional(0, "intermediate_size_mlp")
	if s.window = f.optional(0, "attention_chunk_size"); s.window > 0 {
		f.period(s, "no_rope_layer_interval", 4, windowed)
	}
}

// deepseek reads latent attention, with an indexer or without, and experts beside a
// shared one behind some dense layers.
func deepseek(f *fields, s *shape) {
	s.latent = &Latent{
		QueryRank: f.optional(0, "q_lora_rank"), KVRank: f.number("kv_lora_rank"), Rope: f.number("qk_rope_head_dim"),
		Nope: f.number("qk_nope_head_dim"), Value: f.number("v_head_dim"),
	}
	f.only("qk_head_dim", s.latent.Nope+s.latent.Rope, "the sum of its parts")
	if k := f.optional(0, "index_topk"); k > 0 {
		s.index = &Index{Heads: f.number("index_n_heads"), Dim: f.number("index_head_dim"), TopK: k}
	}
	denseThenExperts(f, s)
}

// denseThenExperts reads experts beside shared ones behind some dense layers.
func denseThenExperts(f *fields, s *shape) {
	s.mlp = f.number("intermediate_size")
	s.experts, s.topK = f.number("n_routed_experts"), f.number("num_experts_per_tok")
	s.expertWidth = f.number("moe_intermediate_size")
	s.sharedWidth = s.expertWidth * f.optional(0, "n_shared_experts")
	s.denseLayers = f.optional(0, "first_k_dense_replace")
	f.only("moe_layer_freq", 1, "experts in every layer behind the dense ones")
}

// period reads how many layers of a kind there are for each full one.
func (f *fields) period(s *shape, field string, missing int, k kind) {
	n := f.optional(missing, field)
	if n <= 0 || s.layers <= 0 || s.layers%n != 0 {
		f.fail(field, fmt.Sprint(n), fmt.Sprintf("a divisor of %d layers", s.layers))
		return
	}
	s.kinds = everyNth(s.layers, n, k)
}

// windows reads which layers see a window only.
func (f *fields) windows(s *shape) {
	width := f.optional(0, "sliding_window")
	used := f.flag("use_sliding_window", true)
	f.optional(0, "max_window_layers") // matters to use_sliding_window only
	if s.linear == nil && s.window == 0 && used {
		s.window = width
		if _, ok := f.values["sliding_window_pattern"]; ok && width > 0 {
			f.period(s, "sliding_window_pattern", 1, windowed)
		} else if width > 0 {
			s.kinds = slices.Repeat([]kind{windowed}, max(0, s.layers))
		}
	}
	var types []string
	if f.get("layer_types", &types, "a list of kinds of attention") {
		f.layerTypes(s, types)
	}
}

// kindNames are the kinds of attention as layer_types has them.
var kindNames = map[string]kind{
	"full_attention": full, "sliding_attention": windowed, "chunked_attention": windowed, "linear_attention": linear,
}

// layerTypes are the kinds of attention, layer by layer.
func (f *fields) layerTypes(s *shape, types []string) {
	if len(types) != s.layers {
		f.fail("layer_types", fmt.Sprintf("%d entries", len(types)), fmt.Sprintf("one for each of %d layers", s.layers))
		return
	}
	s.kinds = make([]kind, len(types))
	for i, t := range types {
		k, ok := kindNames[t]
		if !ok || k == windowed && s.window == 0 || k == linear && s.linear == nil {
			f.fail("layer_types", fmt.Sprintf("%q", t), "full_attention, or a kind that the configuration describes")
			return
		}
		s.kinds[i] = k
	}
}

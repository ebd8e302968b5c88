package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadConfig reads a Hugging Face config.json of a family that is understood. The
// name is for the model, the file for errors. A field that could change the shape
// and is not understood is refused by its name.
func ReadConfig(file, name string, r io.Reader) (*Model, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%s: more than %d bytes: want a config.json", file, maxConfig)
	}
	f, err := newFields(file, text)
	if err != nil {
		return nil, err
	}
	s := f.shape(name)
	f.refuseUnknown()
	if err := errors.Join(f.errs...); err != nil {
		return nil, err
	}
	m, err := s.model()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// maxConfig is the largest config.json, in bytes.
const maxConfig = 1 << 20

// fields are the fields of a config.json; those that are read are ticked off.
type fields struct {
	file   string
	values map[string]json.RawMessage
	read   map[string]bool
	errs   []error
}

// newFields parses a configuration. The decoder of a multimodal model stands in
// text_config: its fields come over the others.
func newFields(file string, text []byte) (*fields, error) {
	f := &fields{file: file, read: map[string]bool{}}
	if err := strict(text, &f.values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if inner, ok := f.values["text_config"]; ok {
		var own map[string]json.RawMessage
		if err := json.Unmarshal(inner, &own); err != nil {
			return nil, fmt.Errorf("%s: text_config: %w", file, err)
		}
		for key, v := range own {
			f.values[key] = v
		}
		f.read["text_config"] = true
	}
	return f, nil
}

// strict decodes one JSON object and nothing behind it.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("want one JSON object and nothing behind it")
	}
	return nil
}

// fail notes that a field is wrong.
func (f *fields) fail(field, found, want string) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s: %s: want %s", f.file, field, found, want))
}

// get decodes a field into v. It is false if the field is missing or null.
func (f *fields) get(field string, v any, want string) bool {
	f.read[field] = true
	raw, ok := f.values[field]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil {
		f.fail(field, excerpt(raw), want)
		return false
	}
	return true
}

func excerpt(raw json.RawMessage) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}

// optional is a whole number under the first of its names that is there, or what
// it is where none is.
func (f *fields) optional(missing int, names ...string) int {
	n, found := missing, false
	for _, name := range names {
		var v int
		if f.get(name, &v, "a whole number") && !found {
			n, found = v, true
		}
	}
	return n
}

// number is a whole number that must be there, under one of its names.
func (f *fields) number(names ...string) int {
	const absent = -1 << 31
	n := f.optional(absent, names...)
	if n == absent {
		f.fail(names[0], "missing", "a whole number")
		return 0
	}
	return n
}

// only is a whole number that, if it is there, has to be one that is understood.
func (f *fields) only(name string, want int, why string) {
	if n := f.optional(want, name); n != want {
		f.fail(name, fmt.Sprint(n), fmt.Sprintf("%d: %s", want, why))
	}
}

// flag is true or false.
func (f *fields) flag(name string, missing bool) bool {
	v := missing
	f.get(name, &v, "true or false")
	return v
}

// text is a word.
func (f *fields) text(name string) string {
	var v string
	f.get(name, &v, "text")
	return v
}

// refuseUnknown refuses fields that nobody read and that may matter.
func (f *fields) refuseUnknown() {
	var names []string
	for name, raw := range f.values {
		if !f.read[name] && string(raw) != "null" && !harmless(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f.fail(name, excerpt(f.values[name]), "a field that is understood (take it out if it changes no shape)")
	}
}

// harmless is whether a field changes neither shapes nor what is computed.
func harmless(name string) bool {
	for _, part := range harmlessParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.Contains(harmlessNames, name)
}

// Fields about training, token ids, positions, numerics and other parts of a
// multimodal model.
var (
	harmlessParts = []string{
		"token_id", "token_index", "dropout", "rope", "aux_loss", "initializer", "eps", "logit", "vision", "audio", "image", "video",
		"transformers_version", "max_position", "z_loss", "jitter", "swiglu", "mtp", "bias",
	}
	harmlessNames = []string{
		"architectures", "model_type", "_name_or_path", "auto_map", "dtype", "torch_dtype", "use_cache",
		"pretraining_tp", "attn_implementation", "_attn_implementation", "add_cross_attention", "attention_type",
		"norm_topk_prob", "routed_scaling_factor", "scoring_func", "scoring_function", "topk_method", "n_group", "topk_group",
		"seq_aux", "ep_size", "router_dtype", "moe_router_dtype", "norm_type", "use_qk_norm", "qk_norm", "num_nextn_predict_layers",
		"partial_rotary_factor", "rotary_dim", "initial_context_length", "sep_token", "bos_token", "eos_token",
		"mamba_ssm_dtype", "attn_temperature_tuning", "floor_scale", "attn_scale", "for_llm_compressor",
		"is_encoder_decoder", "language_model_only", "query_pre_attn_scalar", "cache_implementation",
		"ignore_index", "projector_hidden_act", "no_rope_layers", "moe_layers",
	}
)

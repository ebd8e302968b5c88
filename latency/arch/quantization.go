package arch

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/latency/precision"
)

// quantization is what a config.json says about the formats of its weights, in the
// words of the several tools that write it.
type quantization struct {
	Method    string           `json:"quant_method"`
	Algorithm string           `json:"quant_algo"`
	Bits      int              `json:"bits"`
	Block     []int            `json:"weight_block_size"`
	Groups    map[string]group `json:"config_groups"`

	// Parts that are left as trained.
	NotConverted []string `json:"modules_to_not_convert"`
	Ignore       []string `json:"ignore"`
	Ignored      []string `json:"ignored_layers"`
	Excluded     []string `json:"exclude_modules"`
}

// group is a group of modules that compressed-tensors quantises alike.
type group struct {
	Weights struct {
		Bits     int    `json:"num_bits"`
		Type     string `json:"type"`
		Strategy string `json:"strategy"`
	} `json:"weights"`
}

// weights is the format of each component.
func (f *fields) weights() Weights {
	var q quantization
	const what = "the description of a quantisation"
	if !f.get("quantization_config", &q, what) && !f.get("compression_config", &q, what) {
		return Uniform(precision.BF16)
	}
	main, ok := q.format()
	if !ok {
		f.fail("quantization_config.quant_method", fmt.Sprintf("%q", strings.TrimSpace(q.Method+" "+q.Algorithm)),
			"fp8, mxfp4, awq or gptq in 4 bits, modelopt FP8 or NVFP4, compressed-tensors in 8 or 4 bits")
		return Uniform(precision.BF16)
	}
	w := Uniform(main)
	for _, list := range [][]string{q.NotConverted, q.Ignore, q.Ignored, q.Excluded} {
		for _, module := range list {
			for _, c := range named(module) {
				w[c] = precision.BF16
			}
		}
	}
	return w
}

// format is the format of what is quantised.
func (q *quantization) format() (precision.Format, bool) {
	switch method := strings.ToLower(q.Method); {
	case method == "fp8" && len(q.Block) > 0:
		return precision.FP8Block, true
	case method == "fp8", method == "fbgemm_fp8":
		return precision.FP8, true
	case method == "mxfp4":
		return precision.MXFP4, true
	case method == "awq", method == "gptq":
		return precision.INT4, q.Bits == 4
	case method == "compressed-tensors":
		return compressed(q.Groups)
	case strings.HasPrefix(method, "modelopt") || method == "":
		switch q.Algorithm {
		case "FP8":
			return precision.FP8, true
		case "NVFP4":
			return precision.NVFP4, true
		}
	}
	return precision.Format{}, false
}

// compressed is the format of compressed-tensors, which must be the same in all
// groups.
func compressed(groups map[string]group) (found precision.Format, ok bool) {
	for _, g := range groups {
		var f precision.Format
		switch w := g.Weights; {
		case w.Bits == 8 && w.Type == "float" && w.Strategy == "block":
			f = precision.FP8Block
		case w.Bits == 8 && w.Type == "float":
			f = precision.FP8
		case w.Bits == 4 && w.Type == "float":
			f = precision.NVFP4
		case w.Bits == 4 && w.Type == "int":
			f = precision.INT4
		default:
			return found, false
		}
		if ok && f != found {
			return found, false
		}
		found, ok = f, true
	}
	return found, ok
}

// named is the components that the name or pattern of a module covers, none if it
// is about another part of the model or about a few layers of many.
func named(module string) []Component {
	m := strings.ToLower(module)
	switch {
	case strings.Contains(m, "lm_head"):
		return []Component{Head}
	case strings.Contains(m, "embed"):
		return []Component{Embedding}
	case strings.Contains(m, "attn"), strings.Contains(m, "attention"):
		return []Component{AttentionProj, LatentDown}
	case strings.Contains(m, "shared_expert"):
		return []Component{SharedExperts}
	case strings.Contains(m, "router"), strings.HasSuffix(strings.TrimRight(m, "*$"), ".gate"):
		return []Component{Router}
	case strings.HasPrefix(m, "re:") && strings.Contains(m, "mlp") && !strings.Contains(m, "expert"):
		return []Component{MLP} // of all layers; names of single layers are about a few of many
	}
	return nil
}

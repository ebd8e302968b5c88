package arch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/latency/precision"
)

// ParseWeights reads the number formats of a checkpoint: one format for what is
// usually quantised, then exceptions.
//
//	fp8                          all but embedding, head and router
//	mxfp4 attention=bf16         experts and MLPs; attention stays
func ParseWeights(text string) (Weights, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Weights{}, fmt.Errorf("weights: empty: want a number format, such as bf16")
	}
	f, err := precision.Find(words[0])
	if err != nil {
		return Weights{}, fmt.Errorf("weights: %w", err)
	}
	w := Uniform(f)
	for _, word := range words[1:] {
		name, format, _ := strings.Cut(word, "=")
		c := slices.Index(componentNames[:], strings.ReplaceAll(name, "-", " "))
		if c < 0 {
			return Weights{}, fmt.Errorf("weights: %q: want component=format with one of %s", word,
				strings.ReplaceAll(strings.Join(componentNames[:], ", "), "shared experts", "shared-experts"))
		}
		if w[c], err = precision.Find(format); err != nil {
			return Weights{}, fmt.Errorf("weights: %s: %w", name, err)
		}
		if Component(c) == AttentionProj {
			w[LatentDown] = w[c]
		}
	}
	return w, nil
}

// String says the formats as [ParseWeights] reads them.
func (w Weights) String() string {
	main := w[Experts]
	parts := []string{main.Name}
	usual := Uniform(main)
	for c := range w {
		if w[c].Name == usual[c].Name || Component(c) == LatentDown && w[c].Name == w[AttentionProj].Name {
			continue
		}
		parts = append(parts, strings.ReplaceAll(componentNames[c], " ", "-")+"="+w[c].Name)
	}
	return strings.Join(parts, " ")
}

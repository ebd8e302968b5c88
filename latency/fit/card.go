package fit

import (
	"encoding/json"
	"fmt"

	"github.com/reprise-sim/reprise/latency"
)

// CardSchema and CardVersion stand in front of a model file.
const (
	CardSchema  = "reprise.latency"
	CardVersion = 1
)

// Card is a fitted model as a file: what it is made of and everything that is known
// of it (spec/latency.md 4.4, 4.5).
type Card struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`
	// Base is what the weights weigh: "sums" of a pass, or "roofline".
	Base string `json:"base"`
	// Settings and Deployment make the base, if it is a roofline.
	Settings   *latency.Settings   `json:"settings,omitempty"`
	Deployment *latency.Deployment `json:"deployment,omitempty"`

	Parts   []string  `json:"parts"`
	Weights []float64 `json:"weights"`
	Priors  []float64 `json:"priors"`

	Data     string  `json:"data"`   // names of the files
	Digest   string  `json:"digest"` // "sha256:…" of their bytes
	Passes   int     `json:"passes"` // fitted to
	Dropped  Dropped `json:"dropped"`
	Domain   Domain  `json:"domain"`
	HeldOut  Held    `json:"held_out"`  // errors on blocks of time that were not fitted to
	InSample Errors  `json:"in_sample"` // errors on what was fitted to
	// Condition is the ratio of the largest and the smallest share that a part has of
	// the time: large if some part hardly occurs.
	Condition float64 `json:"condition"`
}

// Domain is the range of what was measured.
type Domain struct {
	Tokens  [2]int64 `json:"tokens"`  // new tokens of a pass, smallest and largest
	Decodes [2]int64 `json:"decodes"` // decoding requests
	Context [2]int64 `json:"context"` // tokens that decodes attend to
}

// Held are errors by kind of pass.
type Held struct {
	All     Errors `json:"all"`
	Decode  Errors `json:"decode"`
	Prefill Errors `json:"prefill"`
	Mixed   Errors `json:"mixed"`
}

// ReadCard reads a model file.
func ReadCard(file string, text []byte) (*Card, error) {
	var c Card
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case c.Schema != CardSchema || c.Version != CardVersion:
		return nil, fmt.Errorf("%s: schema %q version %d: want %q version %d", file, c.Schema, c.Version, CardSchema, CardVersion)
	case len(c.Weights) == 0 || len(c.Weights) != len(c.Parts):
		return nil, fmt.Errorf("%s: %d weights for %d parts", file, len(c.Weights), len(c.Parts))
	}
	for i, w := range c.Weights {
		if !(w >= 0) {
			return nil, fmt.Errorf("%s: weight of %s: %v: want a number, at least 0", file, c.Parts[i], w)
		}
	}
	return &c, nil
}

// domain is the range of some passes.
func domain(log []Logged) Domain {
	var d Domain
	grow := func(r *[2]int64, first bool, v int64) {
		if first || v < r[0] {
			r[0] = v
		}
		if first || v > r[1] {
			r[1] = v
		}
	}
	for i := range log {
		p := &log[i].Pass
		grow(&d.Tokens, i == 0, p.PrefillNew+p.DecodeNew)
		grow(&d.Decodes, i == 0, p.DecodeSeqs)
		grow(&d.Context, i == 0, p.DecodeContext)
	}
	return d
}

package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/fit"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/setting"
)

func init() {
	latency.Register("fitted", latency.Kind{
		About: "as fitted to measured passes (reprise fit)",
		Keys:  []string{"path"},
		Check: func(s latency.Settings, p *setting.Problems) {
			p.Check(s.Path != "", "path", "not set", "the file that reprise fit wrote")
		},
		New: func(s latency.Settings, _ latency.Deployment) (latency.Model, error) {
			text, err := os.ReadFile(s.Path)
			if err != nil {
				return nil, wrong("path", s.Path, err)
			}
			card, err := fit.ReadCard(s.Path, text)
			if err == nil {
				var m latency.Model
				if m, err = Fitted(card, filepath.Base(s.Path)); err == nil {
					return m, nil
				}
			}
			return nil, wrong("path", s.Path, err)
		},
	})
}

// bases are the names of what a fit can weigh.
const (
	baseSums     = "sums"
	baseRoofline = "roofline"
)

// Fitted is the model that a card describes; the name of its file is for reports.
func Fitted(c *fit.Card, name string) (latency.Model, error) {
	known := fmt.Sprintf("what was measured in %s; a pass ±%.1f %% (median %.1f %%) on %d passes held out", c.Data, c.HeldOut.All.MAPE, c.HeldOut.All.Median, c.HeldOut.All.Count)
	switch {
	case c.Base == baseSums && len(c.Weights) == len(fit.SumParts):
		return &fit.Sums{Weights: c.Weights, Title: fmt.Sprintf("fitted %s (sums of a pass)", name), Known: known}, nil
	case c.Base == baseRoofline && len(c.Weights) == int(roofline.Groups) && c.Settings != nil && c.Deployment != nil:
		s, err := Setup(*c.Settings, *c.Deployment)
		if err != nil {
			return nil, err
		}
		copy(s.Factors[:], c.Weights)
		s.Error = known
		return roofline.New(s)
	}
	return nil, fmt.Errorf("base %q with %d weights: want %s with %d, or %s with %d, settings and deployment", c.Base, len(c.Weights),
		baseSums, len(fit.SumParts), baseRoofline, roofline.Groups)
}

// RooflineBase is the base of a fit whose passes ran a known language model on a known
// GPU: the groups of the roofline, near what is known of the engine.
func RooflineBase(s latency.Settings, d latency.Deployment) (fit.Base, error) {
	setup, err := Setup(s, d)
	if err != nil {
		return fit.Base{}, err
	}
	near := setup.Factors
	prior := fit.Prior{Weights: near[:], Low: roofline.Low[:], High: roofline.High[:], Strength: rooflineStrength}
	setup.Factors = roofline.Unit()
	m, err := roofline.New(setup)
	if err != nil {
		return fit.Base{}, err
	}
	b := fit.Base{Name: baseRoofline, Prior: prior, Of: func(p *latency.Pass) []float64 {
		parts := m.Parts(p)
		return parts[:]
	}}
	for g := range roofline.Groups {
		b.Parts = append(b.Parts, g.String())
	}
	return b, nil
}

// rooflineStrength is the strength of the prior (spec/latency.md 4.4: 0.01 to 0.1).
const rooflineStrength = 0.03

// Formula is what a card says in a line.
func Formula(c *fit.Card) string {
	if c.Base == baseSums {
		return (&fit.Sums{Weights: c.Weights}).String()
	}
	var parts []string
	for i, w := range c.Weights {
		parts = append(parts, fmt.Sprintf("%s × %.3g", c.Parts[i], w))
	}
	return strings.Join(parts, ", ")
}

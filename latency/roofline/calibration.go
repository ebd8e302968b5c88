package roofline

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
)

// Calibration is factors that were fitted to measured serving runs of an engine on a
// GPU, with what is known of their error on runs that were held out.
type Calibration struct {
	Engine, GPU string
	// Weights is the number format of most weights, Experts whether the models had
	// experts. "*" stands for all GPUs or formats.
	Weights string
	Experts bool

	Factors Factors

	Runs, Deployments int
	// MAPE, Median and P90 of the error of the time per output token on deployments
	// that were held out, %.
	MAPE, Median, P90 float64
	// Borrowed: it is that of another GPU or format.
	Borrowed bool
}

//go:embed calibration.csv
var calibrationRows []byte

var calibrations = func() []Calibration {
	list, err := readCalibrations("calibration.csv", calibrationRows)
	if err != nil {
		panic(err)
	}
	return list
}()

// Calibrations lists what is built in: for each engine the rows for all GPUs first.
func Calibrations() []Calibration { return slices.Clone(calibrations) }

// readCalibrations reads rows in the format of the embedded calibration.csv.
func readCalibrations(file string, text []byte) ([]Calibration, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var list []Calibration
	for r := range t.Rows() {
		c := Calibration{
			Engine: r.Text("engine"), GPU: r.Text("gpu"), Weights: r.Text("weights"), Experts: r.Text("moe") == "yes",
			Runs: r.Int("runs"), Deployments: r.Int("deployments"), MAPE: r.Number("mape"), Median: r.Number("median"), P90: r.Number("p90"),
		}
		for g := range c.Factors {
			if c.Factors[g] = r.Number(Group(g).String()); c.Factors[g] < 0 {
				r.Fail(Group(g).String(), r.Text(Group(g).String()), "a number, at least 0")
			}
		}
		list = append(list, c)
	}
	return list, t.Err()
}

// Calibrated is the calibration that is nearest to a deployment: of the engine, of
// models with experts or without, on that GPU and in that format if there is one, else
// of a GPU of the same generation, else of the engine as a whole. It is false if the
// engine has none.
func Calibrated(engine string, g *hardware.GPU, m *arch.Model, w arch.Weights) (Calibration, bool) {
	best, score := -1, 0
	for i := range calibrations {
		c := &calibrations[i]
		if c.Engine != engine || c.Experts != m.MoE() {
			continue
		}
		if s := c.fit(g, MainFormat(m, w).Name); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return Calibration{Factors: Unit()}, false
	}
	c := calibrations[best]
	c.Borrowed = score < exactFit
	return c, true
}

// exactFit is the score of a calibration of the very GPU and format.
const exactFit = 8

// fit scores how near a calibration is, 0 if it is of no use.
func (c *Calibration) fit(g *hardware.GPU, format string) int {
	sameFormat := c.Weights == format
	other, err := hardware.Find(c.GPU)
	switch {
	case c.GPU == g.Name && sameFormat:
		return exactFit
	case err == nil && other.Generation == g.Generation && sameFormat:
		return exactFit - 1
	case c.GPU == "*":
		return 1
	}
	return 0
}

// MainFormat is the format of most weights: that of the experts, or of the MLPs.
func MainFormat(m *arch.Model, w arch.Weights) precision.Format {
	if m.MoE() {
		return w[arch.Experts]
	}
	return w[arch.MLP]
}

// String says what the error is known from.
func (c *Calibration) String() string {
	kind := "dense"
	if c.Experts {
		kind = "mixture-of-experts"
	}
	text := fmt.Sprintf("time per output token ±%.1f %% (median %.1f %%) on %d measured %s runs of %s", c.MAPE, c.Median, c.Runs, kind, c.Engine)
	if c.GPU != "*" {
		text += fmt.Sprintf(" in %s on %s", c.Weights, c.GPU)
	}
	if c.Borrowed {
		text += ", none of them of this GPU and format"
	}
	return text + ", each held out with its deployment"
}

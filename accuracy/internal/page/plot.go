package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/accuracy"
	"github.com/reprise-sim/reprise/latency/roofline"
)

// Sizes of a panel, pixels, and the range of its axes, ms.
const (
	side          = 260.0
	margin        = 44.0
	lowMs, highMs = 1.0, 1000.0
)

// place is where a time stands on an axis of a panel.
func place(ms float64) float64 {
	at := math.Log(ms/lowMs) / math.Log(highMs/lowMs) * side
	return min(max(at, 0), side)
}

// figure is predicted against measured times per output token, a panel for each engine,
// on logarithmic axes. The band is where 90 % of the runs lay that were held out.
func figure(outcomes []accuracy.Outcome, experts bool) []byte {
	var b bytes.Buffer
	engines := []string{"vllm", "sglang", "trtllm"}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="11">`+"\n",
		margin+float64(len(engines))*(side+margin), side+2*margin)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="white"/>`)
	for i, engine := range engines {
		fmt.Fprintf(&b, `<g transform="translate(%.0f %.0f)">`+"\n", margin+float64(i)*(side+margin), margin)
		panel(&b, engine, experts, outcomes)
		fmt.Fprintln(&b, "</g>")
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// panel draws one engine.
func panel(b *bytes.Buffer, engine string, experts bool, outcomes []accuracy.Outcome) {
	band := 1 + heldOutP90(engine, experts)/100
	fmt.Fprintf(b, `<rect width="%.0f" height="%.0f" fill="none" stroke="#888"/>`+"\n", side, side)
	line := func(from, to, dx, dy float64) string {
		return fmt.Sprintf("%.1f,%.1f %.1f,%.1f", place(from*dx), side-place(from*dy), place(to*dx), side-place(to*dy))
	}
	fmt.Fprintf(b, `<polygon points="%s %s" fill="#dbe7f5"/>`+"\n", line(lowMs, highMs/band, 1, band), line(highMs, lowMs*band, 1, 1/band))
	fmt.Fprintf(b, `<polyline points="%s" stroke="#555" fill="none"/>`+"\n", line(lowMs, highMs, 1, 1))
	points := 0
	for i := range outcomes {
		o := &outcomes[i]
		if o.LeftOut != "" || o.Experts != experts || o.Case.Engine != engine || o.Value.Name() != "tpot mean" {
			continue
		}
		points++
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="1.6" fill="#1f5fa8" fill-opacity="0.45"/>`+"\n", place(o.Value.Value), side-place(o.Predicted))
	}
	for _, ms := range []float64{1, 10, 100, 1000} {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`+"\n", place(ms), side+14, ms)
		fmt.Fprintf(b, `<text x="-4" y="%.1f" text-anchor="end">%.0f</text>`+"\n", side-place(ms)+4, ms)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="-8" text-anchor="middle" font-weight="bold">%s: %d runs, held-out P90 %.0f %%</text>`+"\n", side/2, engine, points, 100*(band-1))
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">measured, ms; upwards: predicted</text>`+"\n", side/2, side+30)
}

// heldOutP90 is the largest 90th percentile of the errors of an engine's runs that were
// held out, all its GPUs together, %.
func heldOutP90(engine string, experts bool) float64 {
	worst := 0.0
	for _, c := range roofline.Calibrations() {
		if family(c.Engine) == engine && c.GPU == "*" && c.Experts == experts {
			worst = max(worst, c.P90)
		}
	}
	return worst
}

// family is the engine of a preset.
func family(preset string) string {
	if preset == "vllm-0.12" {
		return "vllm"
	}
	return preset
}

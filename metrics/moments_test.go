package metrics

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMergedMomentsAreThoseOfAllSamples(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var parts [3]Moments
		var all []float64
		for i := range parts {
			for _, v := range rapid.SliceOfN(rapid.Float64Range(-50, 1000), 0, 20).Draw(rt, "samples") {
				parts[i].Add(v)
				all = append(all, v)
			}
		}
		var m Moments
		for _, p := range parts {
			m.Merge(p)
		}
		sum, squares := 0.0, 0.0
		for _, v := range all {
			sum += v
		}
		mean := sum / float64(len(all))
		for _, v := range all {
			squares += (v - mean) * (v - mean)
		}
		if m.N != int64(len(all)) {
			rt.Fatalf("%d samples of %d", m.N, len(all))
		}
		if len(all) > 0 && (math.Abs(m.Mean-mean) > 1e-9 || math.Abs(m.Std()-math.Sqrt(squares/float64(len(all)))) > 1e-6) {
			rt.Fatalf("%+v, std %v", m, m.Std())
		}
	})
	if std := new(Moments).Std(); !math.IsNaN(std) {
		t.Errorf("std of nothing is %v", std)
	}
}

func TestAGapIsNeverNegative(t *testing.T) {
	var g Gaps
	g.Add(-3)
	g.Add(4)
	if m, r := g.Moments(), g.Rates(); m.N != 2 || m.Mean != 2 || r.N != 1 || r.Mean != 250 {
		t.Errorf("gaps %+v, rates %+v", m, r)
	}
}

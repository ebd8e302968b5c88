package metrics

import "github.com/reprise-sim/reprise/metrics/column"

// Gaps is the times between consecutive output tokens of one instance, pooled
// over its requests. A pass that continues k tokens adds its gap k times at once.
//
// Means and spreads are kept here, so that they depend on the instance alone; the
// gaps themselves wait until a [Tally] takes them, whenever that is.
type Gaps struct {
	// Gaps between neighbouring passes come in order of passes, those across a
	// break in order of the ends of their requests. How the two are interleaved
	// depends on when passes are folded, so they are not summed together.
	passes, breaks gapMoments

	values []float64 // not yet taken
	runs   []gapRun  // their weights
}

// gapMoments describes gaps, in ms, and the rates that one user saw: 1000/gap
// tokens a second for each gap above 0.
type gapMoments struct{ gap, rate Moments }

// gapRun is n gaps that count weight times each.
type gapRun struct{ n, weight int32 }

// Add adds one gap, in ms, between tokens that are not from neighbouring passes.
func (g *Gaps) Add(gapMs float64) {
	gapMs = max(0, gapMs)
	g.breaks.gap.Add(gapMs)
	if gapMs > 0 {
		g.breaks.rate.Add(1000 / gapMs)
	}
	g.values = append(g.values, gapMs)
	g.weigh(1, 1)
}

// Moments describes all gaps so far, in ms.
func (g *Gaps) Moments() Moments {
	m := g.passes.gap
	m.Merge(g.breaks.gap)
	return m
}

// Rates describes 1000/gap, in tokens per second, of all gaps above 0.
func (g *Gaps) Rates() Moments {
	m := g.passes.rate
	m.Merge(g.breaks.rate)
	return m
}

// addPasses adds the gaps of consecutive passes; before is the end of the pass
// before them.
func (g *Gaps) addPasses(before float64, ends []float64, continued []int32) {
	values, runs := len(g.values), len(g.runs)
	for i := 0; i < len(ends); {
		from, k := i, continued[i]
		for i < len(ends) && continued[i] == k {
			i++
		}
		if k > 0 {
			for _, end := range ends[from:i] {
				g.values = append(g.values, end-before)
				before = end
			}
			g.runs = append(g.runs, gapRun{int32(i - from), k})
		}
		before = ends[i-1]
	}
	g.passes.addAll(g.values[values:], g.runs[runs:])
}

// weigh notes the weight of the last n values.
func (g *Gaps) weigh(n, weight int32) {
	if last := len(g.runs) - 1; last >= 0 && g.runs[last].weight == weight {
		g.runs[last].n += n
		return
	}
	g.runs = append(g.runs, gapRun{n, weight})
}

// addAll adds weighted gaps. It takes two passes over them instead of a division
// for each.
func (m *gapMoments) addAll(values []float64, runs []gapRun) {
	var gap, rate Moments
	var gapSum, rateSum float64
	eachRun(values, runs, func(values []float64, weight int64) {
		var gaps, rates float64
		for _, v := range values {
			gaps += v
			if v > 0 {
				rates += 1000 / v
				rate.N += weight
			}
		}
		gap.N += weight * int64(len(values))
		gapSum += float64(gaps * float64(weight))
		rateSum += float64(rates * float64(weight))
	})
	if gap.N == 0 {
		return
	}
	gap.Mean = gapSum / float64(gap.N)
	rate.Mean = rateSum / float64(max(1, rate.N))
	eachRun(values, runs, func(values []float64, weight int64) {
		var gaps, rates float64
		for _, v := range values {
			d := v - gap.Mean
			gaps += float64(d * d)
			if v > 0 {
				d := 1000/v - rate.Mean
				rates += float64(d * d)
			}
		}
		gap.M2 += float64(gaps * float64(weight))
		rate.M2 += float64(rates * float64(weight))
	})
	m.gap.Merge(gap)
	m.rate.Merge(rate)
}

// merge adds the samples of o.
func (m *gapMoments) merge(o gapMoments) {
	m.gap.Merge(o.gap)
	m.rate.Merge(o.rate)
}

// moveTo moves the gaps into a column.
func (g *Gaps) moveTo(c *column.Column) (err error) {
	eachRun(g.values, g.runs, func(values []float64, weight int64) {
		if err == nil {
			err = c.AddEqual(values, weight)
		}
	})
	g.values, g.runs = g.values[:0], g.runs[:0]
	return err
}

// eachRun calls visit for each run of gaps of equal weight.
func eachRun(values []float64, runs []gapRun, visit func(values []float64, weight int64)) {
	for _, r := range runs {
		visit(values[:r.n], int64(r.weight))
		values = values[r.n:]
	}
}

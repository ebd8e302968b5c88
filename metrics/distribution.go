package metrics

import (
	"math"

	"github.com/reprise-sim/reprise/metrics/column"
)

// Distribution describes samples of one figure. All is NaN but N if there are no
// samples (the reference simulator prints 0 there). A percentile is the sample of
// that rank ([column.Rank]), never interpolated; Std is the population standard
// deviation (spec/replay.md 6.3).
type Distribution struct {
	N                          int64
	Mean, Min, Max             float64
	Median, P75, P90, P95, P99 float64
	Std                        float64
}

// Latencies are the distributions of spec/replay.md 6.2, over completed requests.
type Latencies struct {
	TTFT Distribution // ms from arrival to the first token
	TTST Distribution // ms from the first to the second token
	TPOT Distribution // ms per output token after the first, one sample a request
	ITL  Distribution // ms between consecutive tokens, pooled over requests
	E2E  Distribution // ms from arrival to the last token
	Rate Distribution // output tokens per second as one user sees them: 1000 / gap for every gap above 0
}

// percents are the percentiles of a Distribution, in its order.
var percents = [...]float64{50, 75, 90, 95, 99}

// undefined is the distribution of no samples.
func undefined() Distribution {
	nan := math.NaN()
	return Distribution{0, nan, nan, nan, nan, nan, nan, nan, nan, nan}
}

// describe describes the samples of some columns. sum is their sum, added up in
// order of rows.
func describe(sum float64, columns []*column.Column) (Distribution, error) {
	n := total(columns)
	if n == 0 {
		return undefined(), nil
	}
	d := Distribution{N: n, Mean: sum / float64(n), Min: math.Inf(1), Max: math.Inf(-1)}
	squares := 0.0
	for _, c := range columns {
		err := c.Values(func(values []float64, _ int64) {
			for _, v := range values {
				squares += float64((v - d.Mean) * (v - d.Mean))
			}
		})
		if err != nil {
			return d, err
		}
		if c.Len() > 0 {
			d.Min, d.Max = min(d.Min, c.Min()), max(d.Max, c.Max())
		}
	}
	d.Std = math.Sqrt(squares / float64(n))
	var ranks []int64
	for _, p := range percents {
		ranks = append(ranks, column.Rank(n, p))
	}
	at, err := column.AtRanks(ranks, columns...)
	d.setPercentiles(at)
	return d, err
}

// describeGaps describes gaps and the rates that follow from them. A rate falls
// as its gap grows, so its percentiles are those of the gaps above 0, counted
// from the other end.
func describeGaps(m gapMoments, columns []*column.Column) (itl, rate Distribution, err error) {
	itl, rate = undefined(), undefined()
	n, positive := m.gap.N, m.rate.N
	if n == 0 {
		return itl, rate, nil
	}
	ranks := []int64{0, n - 1}
	for _, p := range percents {
		ranks = append(ranks, column.Rank(n, p))
	}
	if positive > 0 {
		ranks = append(ranks, n-positive)
		for _, p := range percents {
			ranks = append(ranks, n-1-column.Rank(positive, p))
		}
	}
	at, err := column.AtRanks(ranks, columns...)
	if err != nil {
		return itl, rate, err
	}
	itl = Distribution{N: n, Mean: m.gap.Mean, Min: at[0], Max: at[1], Std: m.gap.Std()}
	itl.setPercentiles(at[2:])
	if positive > 0 {
		for i := range at {
			at[i] = 1000 / at[i]
		}
		rest := at[2+len(percents):]
		rate = Distribution{N: positive, Mean: m.rate.Mean, Min: at[1], Max: rest[0], Std: m.rate.Std()}
		rate.setPercentiles(rest[1:])
	}
	return itl, rate, nil
}

// setPercentiles sets them in the order of percents.
func (d *Distribution) setPercentiles(at []float64) {
	d.Median, d.P75, d.P90, d.P95, d.P99 = at[0], at[1], at[2], at[3], at[4]
}

// total is the number of samples in some columns.
func total(columns []*column.Column) (n int64) {
	for _, c := range columns {
		n += c.Len()
	}
	return n
}

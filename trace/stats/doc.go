// Package stats says what is in a trace: counts, distributions, the offered rate
// over time, and how much of the prompts is shared.
//
// [Of] reads a trace once and returns a [Stats], a plain value that is written as
// JSON or, piece by piece, as small text histograms. Percentiles are exact, and
// what is not defined is absent. Nothing here is simulated: what a cache would hold
// is counted on block names alone, in the order of the trace.
package stats

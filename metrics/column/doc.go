// Package column keeps many float64 samples in little memory and answers exact
// questions about their order. Its central type is [Column]: samples, perhaps
// with weights, go in; values at given ranks come out ([AtRanks]).
//
// A column holds one page of samples in memory; full pages go to a temporary file
// that has no name and vanishes with the process ([Spill]). It does not know what
// its samples mean.
package column

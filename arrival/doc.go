// Package arrival is chance with a seed: when generated work arrives and how long
// it is.
//
// A [Process] spaces arrivals, a [Distribution] draws lengths and pauses; both are
// made from settings by name or written by hand. They draw from a [Rand], one
// stream per seed and purpose. [Times] and [Tokens] round what comes out to whole
// microseconds and whole tokens. Nothing here knows what a request is.
//
// Results have the same bits on every architecture. The generator is integer
// arithmetic; the rest is +, −, ×, ÷ and square root, which IEEE 754 defines to the
// bit, with every product rounded before it is added (no fused multiply-add).
// Logarithm and exponential are this package's own (elementary.go): those of
// package math are assembly on some architectures, and rounding to microseconds
// does not hide a last bit that differs next to a tie.
package arrival

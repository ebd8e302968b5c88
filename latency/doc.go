// Package latency is what a pass costs.
//
// An engine describes a pass once, as sums over its requests ([Pass]); a [Model]
// turns the sums into milliseconds. Models own no state that a price depends on
// and know neither requests nor clocks, so the same pass always costs the same
// bits on every machine: products that are added are rounded first (no fused
// multiply-add).
//
// A model in a file of its own states raw milliseconds and registers by name;
// [New] makes it from [Settings] and wraps it in [Scale], which applies the
// speed-ups and the rounding to whole nanoseconds that all models share.
package latency

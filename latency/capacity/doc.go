// Package capacity is how many KV blocks fit beside a model.
//
// [Plan] adds up what lies in the memory of the fullest GPU: weights, activations,
// what the runtime keeps, and leaves the rest for the cache. The [Breakdown] names
// every part in bytes, so that a person can check it; a model that does not fit is an
// error that says by how much and on how many GPUs it would (spec/latency.md 1.15).
//
// It knows shapes and sizes, not what a pass costs.
package capacity

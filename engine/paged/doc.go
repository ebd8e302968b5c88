// Package paged is the engine of block pools: continuous batching over a prefix
// cache of blocks, with chunked prefill and preemption by recomputation.
//
// One body serves several rule sets ([rules]): vllm decides step by step as the
// real scheduler of vLLM does (spec/vllm-real.md), aisimulate as the reference
// simulator (spec/engine.md 6). Where they agree there is one line of code, where
// they differ one named rule.
//
// Requests past their prompt do the same thing in each pass, and all of it is
// known ahead. So the rank keeps sums over them (type decodes), not a loop: a pass
// in which everybody is served costs what changes in it, and passes in which
// nothing changes are described at once (spec/fast-path.md). Only when blocks or
// budget do not suffice is the running list walked request by request.
//
// The rank knows no clock. Passes are numbered; a pass is decided by Schedule and
// its results arrive with Complete, one pass later under asynchronous scheduling.
package paged

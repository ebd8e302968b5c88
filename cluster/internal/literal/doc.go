// Package literal is the bucketed service written down a second time, word for word:
// blocks are objects with names, caches are maps, every request is looked at in
// every pass, and one loop goes from instant to instant.
//
// [Run] plays calls on a [Service] and returns what became of each. It follows the
// words of spec/buckets.md and spec/vllm-real.md (without speculation), not the other
// packages, of which it shares prices of passes, keys of blocks and the routers.
// Tests hold the real service against it; it knows no fast path, and nothing but
// tests may use it.
package literal

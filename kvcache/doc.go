// Package kvcache is where KV blocks live.
//
// A [Pool] is the device's blocks with their prefix cache (L0). Blocks are
// interchangeable, so it keeps counts, not block numbers, and the cache is a tree
// of runs: a run of blocks with the same fate is one entry, whatever its length.
// Who holds blocks has a [Lease]; what is released stays findable, least recently
// released first to go, a request's last block before its first.
//
// The pool is told content as words (one integer a block, see token.Seq.Words)
// and knows neither requests nor clocks.
package kvcache

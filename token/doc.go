// Package token is content: sequences of tokens that share prefixes, and the
// identity of their blocks.
//
// A [Seq] says which tokens stand where, as far as a trace knows: explicit ids,
// ids of whole blocks, or nothing but "the tokens of this node". Two positions
// are equal only if the trace says so. Reading order, files, clocks and engines
// are unknown here, so the identity of a block never depends on what else was
// read (DESIGN.md 3).
//
// A full block has two names. Its [Key] is a hash chained over everything before
// it, the name that routers, meta stores and events exchange. Its word (see
// [Seq.Words]) says what the block holds given what stands before it; comparing
// words along a path costs one integer comparison a block and no hashing.
package token

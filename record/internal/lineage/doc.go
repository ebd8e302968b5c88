// Package lineage knows which call's tokens a prompt goes on from.
//
// A [Tree] holds the contexts of all calls: prompt and output, each stored as what it
// adds to the one that it extends. [Tree.Longest] finds the context that shares most
// with a prompt, so that a conversation costs its new tokens in the journal. Sessions,
// times and text are not known here.
package lineage

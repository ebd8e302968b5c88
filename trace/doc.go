// Package trace is what was recorded: tasks of nodes and the edges between them.
//
// A [Task] is what arrives and holds a slot under a concurrency limit. Its nodes
// are calls to a model, tool calls and waits; edges say what has to happen before
// a node may start. A flat request is a task of one node, a conversation a chain,
// an agent run a graph. Inputs and outputs are token sequences that share their
// prefixes ([token.Seq]), so a task costs its new tokens.
//
// A [Trace] is a checked input that can be streamed as often as needed. [OpenRows]
// makes one of any format of one row a line; the native format is read and written
// here, the public formats live in subpackages, and package formats finds the right
// one. A [Source] streams tasks, a [Sink] takes them, and slices and conversions
// stand in between. Nothing here knows when a call is sent or who serves it.
package trace

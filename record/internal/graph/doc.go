// Package graph makes tasks of a journal: which calls and tools there were, what each
// waited for, and which tokens it goes on from.
//
// [Build] takes the entries and returns a [Recording]. What the client said (headers,
// marks) counts before what its requests show (ids of tool calls and of responses,
// messages, tokens that they repeat), and that before mere order; edges that nobody
// stated are inferred and marked so (spec/live.md D.3). It is a pure function: no
// clock, no file, no server.
package graph

// Package synth makes traces out of chance.
//
// A [Spec] says how many tasks there are, when they arrive, how long prompts,
// answers and pauses are and what prompts have in common; [New] turns it into a
// [Trace], which streams like any recorded one. Tasks are made when they are asked
// for, so memory does not grow with their number. The same spec gives the same
// trace on every machine, and a spec with more tasks begins with the same ones.
//
// Nothing here knows who replays the trace or how fast.
package synth

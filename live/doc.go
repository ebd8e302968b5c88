// Package live replays a trace on real servers: the driver of package workload on
// the wall clock.
//
// A [Replay] is made by [Prepare], which asks the servers what they can do
// (live/probe), chooses the way of forcing (live/force) and refuses, invocation by
// invocation, what a server would cut without a word. [Replay.Run] then lets one
// goroutine own the driver and one heap of timers, sends each call when it is due
// (live/wire), compares every answer with the recording, and leaves the run folder of
// a simulation. It knows no file format, no flag and no engine.
package live

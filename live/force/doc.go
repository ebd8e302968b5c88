// Package force makes a server do what was recorded: it turns a call of a trace into
// the body of a request, and compares the answer with the recording.
//
// A [Mode] is one way of forcing; [Modes] lists them, the strongest first. Before a
// call is sent, [Refuse] says whether a server could only do something else: what is
// refused is never shortened (spec/live.md 0, F.2). After it, [Mode.Differences] says
// what the server did otherwise. Nothing here knows connections, clocks, or when a
// call is due.
package force

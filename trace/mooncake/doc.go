// Package mooncake reads and writes traces in the format of Mooncake: one request a
// line, with its arrival in milliseconds, its lengths, and the ids of its prompt's
// blocks. Rows with a session id are turns of a conversation.
//
// [Open] checks the files and makes a [trace.Trace] of them: a task for each
// session and for each row without one (spec/replay.md 3.2). A [Writer] writes the
// tasks that the format can express and refuses the others. Arrivals are not
// shifted and ids keep their 64 bits; what an engine makes of them is not known
// here.
package mooncake

// Package wire talks to a server: one request out, one answer in, with the time of
// everything that arrives.
//
// A [Client] sends a [Request] and reads the [Answer], streamed or not. An answer is always
// returned; what went wrong is its [Failure], whose kind is one of the reasons of
// package metrics. The package knows the fields that serving APIs answer with and
// nothing of traces, of forcing, or of when a call is due.
package wire

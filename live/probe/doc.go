// Package probe finds out what a server can do before anything depends on it.
//
// A [Prober] asks a server about itself and tries each way of forcing with a short
// call; versions are not trusted, only answers (spec/live.md A.12). What it finds are
// [Capabilities]: what works, what does not and why, and which flag or package would
// give more. It decides nothing.
package probe

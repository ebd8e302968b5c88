// Package workload decides when each call of a trace may start.
//
// A [Driver] reads tasks from a trace and releases their calls: by recorded times
// or into a fixed number of slots ([Settings]), and inside a task by what each
// node waits for. The loop that owns it tells it the time and what became of the
// calls; calls that are due come out. It owns no clock, no goroutine and no
// randomness, so a simulation on virtual time and a replay on the wall clock run
// the same code. It knows neither who serves a call nor what a call costs.
//
// All times are milliseconds from the start of the run.
package workload

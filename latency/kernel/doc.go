// Package kernel is how fast kernels run.
//
// A [Law] turns the FLOPs, bytes and messages of an operator ([work.Op]) into
// milliseconds on a GPU: a smooth maximum of both limits, a fixed cost, and what the
// kernels around it move (spec/latency.md 1.2). Its constants belong to a class of
// kernels, a GPU and a number format; they are fitted to public tables of measured
// kernels, stand in the embedded efficiency.csv and messages.csv with their sources,
// and are made by internal/calibrate. Where a table is missing they are borrowed
// from a GPU that is alike, and say so.
//
// Engines, passes and schedules are not known here.
package kernel

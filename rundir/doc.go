// Package rundir is the folder that a run leaves: run.json, summary.json,
// per_request.csv and the others of DESIGN.md 7.
//
// A [Draft] is a folder being written: every file has a temporary name until all
// are complete, so that a run is there as a whole or not at all. A [Run] is one
// being read; numbers come back as the float64 that was written. The package knows
// the files' formats and nothing of how a run is made.
package rundir

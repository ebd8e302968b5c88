// Package conformance holds the simulated engines against recorded decisions and
// results of the real ones. Its tests run a bundled set of cases in
// testdata/oracle (at the module root) and every case below the folder that the
// environment variable REPRISE_ORACLE names, relative to the module root.
//
// A case that needs a feature that is not built is skipped with the feature's
// name; it never passes silently.
package conformance

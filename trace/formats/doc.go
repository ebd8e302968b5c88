// Package formats finds the reader for a trace.
//
// A [Format] is a name, a way to recognise content and a way to open it; each
// stands in a file of its own next to its registration, so adding one touches one
// new file. [Open] takes paths and gives a checked [trace.Trace]. What a format's
// rows mean is its own package's business.
package formats

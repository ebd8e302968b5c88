// Package sse reads server-sent events out of a stream that arrives in pieces.
//
// A [Reader] takes the pieces as they come and calls back for each event that they
// complete; an event may be cut anywhere, also inside a line end. What the data of an
// event mean is not known here.
package sse

// Package sse reads server-sent events, as servers of language models stream their
// answers (WHATWG HTML, "Server-sent events").
//
// A [Parser] is handed the stream in pieces, by somebody who watches it pass; a
// [Reader] fetches it. An event may be cut anywhere, also inside a line end; comments,
// which keep connections alive, and fields other than event and data are skipped. What
// the data of an event mean is not known here.
package sse

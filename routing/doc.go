// Package routing decides where a request goes.
//
// A [Placement] chooses a target (one rank of one instance) for each request, at
// once or later, and is told what it asked to be told. It sees the service
// through read-only views and never drives it. Policies register by name next to
// their code; adding one touches one new file.
package routing

// Package cluster is what serves: instances, each with its own device timeline,
// and the pool of them behind one placement.
//
// An [Instance] is looked at, never driven. Looking at it at t advances it to t:
// passes that end by then are complete, decisions at times before t are made, and
// nothing at t itself, because what arrives at t has to be there first; Start(t)
// makes the decisions of t. It never runs past the next instant at which somebody
// may reach it, and it never lets an effect pass that somebody has to be told at
// its instant.
//
// Three steps keep that cheap. Passes in which nothing happens are planned in one
// go (priced, not decided); looking commits as many of them as lie before the
// look; whatever changes the picture throws the rest of the plan away.
package cluster

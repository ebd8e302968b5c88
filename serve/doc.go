// Package serve is a simulated cluster as an OpenAI-compatible server on the wall clock.
//
// A [Backend] is the one goroutine that owns the event loop's stepper and the clock:
// calls go in, the times of their tokens come out. A [Server] speaks HTTP in front of
// it as vLLM does: requests become calls, tokens become text and events. What a token
// costs, and who is served when, is the simulation's to say; nothing is decided here.
// Engines, routers and configurations are unknown: the stepper is given.
package serve

// Package explain tells one routing decision of a run as a person would: when the
// request came, which buckets and instances could have taken it, which one did and
// why, and what that cost or saved.
//
// A [Story] is found in the folder of a run ([Find]): a line of routing_log.jsonl,
// the request's line of per_request.csv and the routers' settings. It is told as
// text or as JSON. The package has the words for reasons; it does not know how a
// run is made, nor does it decide anything.
package explain

package engine

// Progressive is a rank that can tell between effects how far its requests are. It
// costs as much as there are running requests; a server that streams uses it.
type Progressive interface {
	// OpenRuns visits the runs of tokens that go on, in the order of the running list:
	// n tokens, one a pass, from pass from on, that no [Tokens] effect has reported.
	// Those of passes that are not complete are included.
	OpenRuns(visit func(row int32, from int, n int32))
}

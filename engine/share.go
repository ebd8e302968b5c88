package engine

// Share is what one request gets in a pass.
type Share struct {
	Row    int32
	New    int32 // tokens computed
	Before int32 // tokens before them
	Yields bool  // the pass gives it an output token
}

// Inspector is a rank that can list the last decided pass request by request, in
// the order in which the scheduler served them. It costs as much as there are
// running requests; logs and tests use it.
type Inspector interface {
	Shares(dst []Share) []Share
}

package engine

// BlockKind says what happened to a run of blocks.
type BlockKind uint8

const (
	// Stored: the blocks have been computed, in pass Pass. Those before Prompt are
	// prompt, the others generated.
	Stored BlockKind = iota
	// Evicted: the last copy of the blocks is gone; a pass took their place when
	// Pass was decided.
	Evicted
	// Used: an admission or a load found blocks [0, To) in the pool, and those up to
	// Found below it.
	Used
)

// BlockEvent is what happened to blocks [From, To) of a chain of content (see
// token.Seq.Words).
type BlockEvent struct {
	Kind          BlockKind
	Words         []uint64
	From, To      int32
	Prompt, Found int32
	Pass          int
}

// Lower is the tiers below the pool of a rank, asked when a request could be
// admitted.
type Lower interface {
	// Find is how many of blocks [from, limit) of words, from the first on, can be
	// had from the tiers now.
	Find(row int32, words []uint64, from, limit int32) int32
	// Begin starts the load that Find has just found for row; the rank has set its
	// blocks aside. Whoever loads calls [Tiered.Loaded] when it is over.
	Begin(row int32)
	// Forget drops the load of a request that has been cancelled.
	Forget(row int32)
}

// Tiered is a rank with tiers below its pool.
type Tiered interface {
	Rank
	// Attach sets the tiers below; nil if there are none. From then on effects
	// contain what happens to blocks.
	Attach(l Lower)
	// Loaded ends the load of a request: its first blocks leading blocks are in the
	// pool now, those that were there before the load included. The next Schedule
	// can admit it.
	Loaded(row int32, blocks int32)
	// Secure is whether nothing will be asked of the tiers before another request is
	// submitted: nobody waits or loads, and nobody who runs can lose its blocks.
	Secure() bool
	// Look reports what has happened to blocks and has not been told.
	Look(fx *Effects)
}

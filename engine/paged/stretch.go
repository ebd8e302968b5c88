package paged

import (
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// Stretch implements [engine.Rank]: the next passes are nothing but decodes if
// nobody is in mid prefill and nobody can be admitted, until a request ends or
// blocks run out (spec/fast-path.md 2).
func (r *Rank) Stretch(limit int, s *engine.Stretch) bool {
	if r.dec.n == 0 || len(r.partials) > 0 || r.dec.n > int(r.budget) || r.interval > 1 {
		return false
	}
	if r.waiting.len()+len(r.loads.ready) > 0 && !r.blocked && r.running.n < r.maxRunning {
		return false
	}
	last, _ := r.nextEnding()
	limit = min(limit, last-r.pass+1)
	if len(r.late.list) > 0 { // what ends in a pass in flight is gone depth passes later
		for i := range r.late.list {
			if o := &r.late.list[i]; o.ends {
				limit = min(limit, o.pass+r.depth-r.pass)
				break
			}
		}
	}
	limit = r.beforeShortage(limit)
	if limit <= 0 {
		return false
	}
	*s = engine.Stretch{First: r.decodePass(r.dec.n), Passes: limit, Continued: r.dec.n, Ends: r.pass+limit > last}
	return true
}

// beforeShortage is how many of the next passes, at most limit, find the blocks
// they need.
func (r *Rank) beforeShortage(limit int) int {
	bs := len(r.dec.need)
	free := int(r.pool.Available())
	if r.dec.n*((limit+bs-1)/bs) <= free {
		return limit
	}
	at := r.pass % bs
	for i := range limit {
		if free -= int(r.dec.need[at]); free < 0 {
			return i
		}
		if at++; at == bs {
			at = 0
		}
	}
	return limit
}

// Skip implements [engine.Rank].
func (r *Rank) Skip(n int) {
	if r.lower != nil {
		r.growStepwise(n)
	} else {
		r.grow(n)
	}
	r.dec.context += int64(r.dec.n) * int64(n)
	r.pass += n
	r.endDecodes(r.pass - 1)
}

// grow takes the blocks that n passes need.
func (r *Rank) grow(n int) {
	bs := len(r.dec.need)
	grow := r.dec.n * (n / bs)
	at := r.pass % bs
	for range n % bs {
		grow += int(r.dec.need[at])
		if at++; at == bs {
			at = 0
		}
	}
	r.pool.Grow(int32(grow))
}

// decodePass is the cost of a pass in which n requests decode and nothing else.
func (r *Rank) decodePass(n int) latency.Pass {
	return latency.Pass{
		DecodeSeqs: int64(n), DecodeNew: int64(n), DecodeContext: r.dec.context, Sampled: int64(n),
		PoolTokens: int64(r.pool.Size()+r.nullBlocks) * int64(r.blockSize),
	}
}

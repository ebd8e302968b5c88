package stats

import (
	"slices"

	"github.com/reprise-sim/reprise/token"
)

// Sharing is how much of the prompts has been seen before. A prompt is a list of
// blocks; a block is named by its content and everything before it. Where the trace
// has ids of blocks, they are the blocks, a last cut one included; where it has
// token ids, full blocks of BlockSize tokens are.
//
// A block is a hit if it and all blocks before it are in the cache when the prompt
// arrives. Prompts arrive in the order of the trace, the calls of a task one after
// the other. A cache of n blocks keeps the n that were used last; the blocks of a
// prompt are used when it has been looked up, last block first, so that its
// beginning stays longest.
type Sharing struct {
	BlockSize int     `json:"block_size"`
	Blocks    int     `json:"blocks"`   // of all prompts
	Distinct  int     `json:"distinct"` //
	Hits      int     `json:"hits"`     // of a cache without limit
	HitRate   float64 `json:"hit_rate"` // Hits / Blocks
	Caches    []Cache `json:"caches"`
}

// Cache is what one cache would hit.
type Cache struct {
	Blocks  int     `json:"blocks"`
	Hits    int     `json:"hits"`
	HitRate float64 `json:"hit_rate"`
}

// sharingCount counts hits of all cache sizes at once: a cache of n blocks has a
// block if fewer than n others have been used since (Mattson et al., Evaluation
// techniques for storage hierarchies, 1970), so one measure for each leading block
// says which caches hit it.
type sharingCount struct {
	blockSize int
	sizes     []int // ascending
	blocks    int
	hits      int
	hitsOf    []int // by size: hits of that size and not of smaller ones
	used      *recency
	names     []token.Key // scratch: the blocks of a prompt
}

func newSharing(o Options) *sharingCount {
	sizes := slices.Sorted(slices.Values(o.CacheBlocks))
	return &sharingCount{blockSize: o.BlockSize, sizes: sizes, hitsOf: make([]int, len(sizes)), used: newRecency()}
}

// prompt counts a prompt.
func (c *sharingCount) prompt(s *token.Seq) {
	c.names = c.blocksOf(c.names[:0], s)
	c.blocks += len(c.names)
	need := 0 // blocks a cache needs to have all leading blocks so far
	for _, name := range c.names {
		since, seen := c.used.since(name)
		if !seen {
			break
		}
		need = max(need, since+1)
		c.hits++
		if i, _ := slices.BinarySearch(c.sizes, need); i < len(c.sizes) {
			c.hitsOf[i]++
		}
	}
	for _, name := range slices.Backward(c.names) {
		c.used.use(name)
	}
}

// blocksOf appends the names of a prompt's blocks.
func (c *sharingCount) blocksOf(dst []token.Key, s *token.Seq) []token.Key {
	if s == nil {
		return dst
	}
	ids := s
	if parent, _ := s.Parent(); parent != nil && s.Leaf().BlockIDs == nil && s.Leaf().Tokens == nil {
		ids = parent // a tail that is shared with nobody
	}
	l := ids.Leaf()
	if parent, _ := ids.Parent(); parent != nil || l.BlockIDs == nil {
		return s.Keys(dst, c.blockSize)
	}
	key := token.Key(l.Scope)
	for _, id := range l.BlockIDs {
		key = token.Chain(key, id)
		dst = append(dst, key)
	}
	return dst
}

// sharing are the figures of what has been counted, nil if there was no block.
func (c *sharingCount) sharing() *Sharing {
	if c.blocks == 0 {
		return nil
	}
	rate := func(hits int) float64 { return float64(hits) / float64(c.blocks) }
	s := &Sharing{BlockSize: c.blockSize, Blocks: c.blocks, Distinct: c.used.len(), Hits: c.hits, HitRate: rate(c.hits)}
	hits := 0
	for i, size := range c.sizes {
		hits += c.hitsOf[i]
		s.Caches = append(s.Caches, Cache{size, hits, rate(hits)})
	}
	return s
}

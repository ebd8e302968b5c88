package serve

import (
	"slices"
	"sync"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// blocks knows the tokens of blocks, by what the engine calls them: of calls that are
// open and of blocks that an instance holds.
type blocks struct {
	size int

	mu    sync.Mutex
	known map[uint64]*knownBlock // by word
	held  map[holding]bool
}

// knownBlock is the tokens of a block, and by how many they are needed.
type knownBlock struct {
	ids  []uint32
	uses int
}

// holding is a block, with all before it, on an instance.
type holding struct {
	instance int
	key      token.Key
}

func newBlocks(size int) *blocks {
	return &blocks{size: size, known: map[uint64]*knownBlock{}, held: map[holding]bool{}}
}

// open makes the blocks of a call known; the returned function forgets them, but for
// those that somebody holds.
func (b *blocks) open(c *call) (forget func()) {
	ids := slices.Concat(c.prompt, c.output)
	words := token.IDs(salted(ids, c.CacheSalt)).Words(nil, b.size)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range words {
		if b.known[w] == nil {
			b.known[w] = &knownBlock{ids: ids[i*b.size : (i+1)*b.size]}
		}
		b.known[w].uses++
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range words {
			b.release(w)
		}
	}
}

// release gives up a use of a block.
func (b *blocks) release(word uint64) {
	if k := b.known[word]; k != nil {
		if k.uses--; k.uses == 0 {
			delete(b.known, word)
		}
	}
}

// event is what subscribers are told of a change, nil if nothing.
func (b *blocks) event(instance int, e *engine.BlockEvent) map[string]any {
	if e.Kind == engine.Used {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := keysOf(e.Words[:e.To])
	var parent any // nil: it is the first block
	if e.From > 0 {
		parent = uint64(keys[e.From-1])
	}
	hashes, ids := []uint64{}, []uint32{}
	for i := e.From; i < e.To; i++ {
		at := holding{instance, keys[i]}
		word := e.Words[i]
		hashes = append(hashes, uint64(keys[i]))
		if k := b.known[word]; k != nil {
			ids = append(ids, k.ids...)
			if e.Kind == engine.Stored && !b.held[at] {
				b.held[at] = true
				k.uses++
			}
		}
		if e.Kind == engine.Evicted && b.held[at] {
			delete(b.held, at)
			b.release(word)
		}
	}
	if e.Kind == engine.Evicted {
		return map[string]any{"type": "BlockRemoved", "block_hashes": hashes, "medium": "GPU"}
	}
	return map[string]any{
		"type": "BlockStored", "block_hashes": hashes, "parent_block_hash": parent, "token_ids": ids,
		"block_size": b.size, "lora_id": nil, "medium": "GPU", "lora_name": nil,
	}
}

// keysOf are the keys of a chain of blocks of explicit ids, whose words are their local
// hashes (see [token.Seq.Words]).
func keysOf(words []uint64) []token.Key {
	keys := make([]token.Key, len(words))
	for i, w := range words {
		if i == 0 {
			keys[i] = token.Key(w)
		} else {
			keys[i] = token.Chain(keys[i-1], w)
		}
	}
	return keys
}

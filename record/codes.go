package record

import (
	"sync"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/lineage"
)

// codes knows what the journal holds already, so that a call costs only what is new in
// it: its tokens and its messages. It learns of nothing that could not be written.
type codes struct {
	mu    sync.Mutex
	tree  *lineage.Tree
	last  map[string]int64 // the last call with ids, by session
	talks map[uint64]place // conversations by their names
}

// place is a conversation: the first messages of a call.
type place struct {
	seq      int64
	messages int
}

func newCodes() *codes {
	return &codes{tree: lineage.New(), last: map[string]int64{}, talks: map[uint64]place{}}
}

// ids are the token ids of a call as the sources gave them.
type ids struct {
	input, output         []uint32
	inputFrom, outputFrom string // "" if there are none
}

// code says ids in terms of what is known. The caller holds the lock.
func (k *codes) code(session string, i ids) *journal.IDs {
	coded := &journal.IDs{InputFrom: i.inputFrom, OutputFrom: i.outputFrom, Output: journal.Pack(i.output)}
	base, keep := k.tree.Longest(i.input, k.last[session])
	coded.Base, coded.Keep, coded.Own = base, int32(keep), journal.Pack(i.input[keep:])
	return coded
}

// learn adds what has been written. The caller holds the lock.
func (k *codes) learn(seq int64, session string, i ids, coded *journal.IDs) {
	if i.inputFrom == "" {
		return
	}
	own := append(i.input[coded.Keep:len(i.input):len(i.input)], i.output...)
	k.tree.Add(seq, coded.Base, int(coded.Keep), own)
	k.last[session] = seq
}

// known is the longest beginning of a conversation that the journal holds.
func (k *codes) known(chain []uint64) place {
	for i := len(chain) - 1; i >= 0; i-- {
		if p, ok := k.talks[chain[i]]; ok {
			return p
		}
	}
	return place{}
}

// remember adds the beginnings of a conversation.
func (k *codes) remember(seq int64, chain []uint64) {
	for i := len(chain) - 1; i >= 0; i-- {
		if _, ok := k.talks[chain[i]]; ok {
			return
		}
		k.talks[chain[i]] = place{seq, i + 1}
	}
}

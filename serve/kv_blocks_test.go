package serve

import (
	"testing"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// Content is forgotten when no call and no instance has it any more.
func TestOnlyContentInUseIsKnown(t *testing.T) {
	b := newBlocks(2)
	one := &call{prompt: []uint32{1, 2, 3, 4}, output: []uint32{5}}
	two := &call{prompt: []uint32{1, 2}, output: []uint32{9, 9}}
	forgetOne, forgetTwo := b.open(one), b.open(two)
	words := token.IDs(one.prompt).Words(nil, 2)
	for range 2 { // to store a block again changes nothing
		b.event(0, &engine.BlockEvent{Kind: engine.Stored, Words: words, From: 0, To: 1})
	}
	forgetOne()
	forgetTwo()
	if len(b.known) != 1 {
		t.Errorf("%d blocks are known, one is held", len(b.known))
	}
	b.event(0, &engine.BlockEvent{Kind: engine.Evicted, Words: words, From: 0, To: 1})
	if len(b.known)+len(b.held) != 0 {
		t.Errorf("%d blocks are known, %d held, of none", len(b.known), len(b.held))
	}
	if b.event(0, &engine.BlockEvent{Kind: engine.Used, Words: words, To: 1}) != nil {
		t.Error("subscribers are told of a use")
	}
}

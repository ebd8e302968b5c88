package paged

import (
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/engine"
)

// oneBlock is tiers that have the first block of every request that is looked for.
type oneBlock struct{ loading []int32 }

func (b *oneBlock) Find(int32, []uint64, int32, int32) int32 { return 1 }
func (b *oneBlock) Begin(row int32)                          { b.loading = append(b.loading, row) }
func (b *oneBlock) Forget(int32)                             {}

// Without chunks, a preempted request may come back from its load with more tokens
// left than a pass takes. It is the one that is stuck, not those behind it.
func TestALoadedRequestThatNoPassCanTakeIsStuck(t *testing.T) {
	s := engine.Defaults()
	s.BlockSize, s.NumGPUBlocks, s.MaxNumSeqs, s.MaxNumBatchedTokens = 2, 8, 2, 3
	s.EnableChunkedPrefill, s.EnablePrefixCaching, s.VLLM.AsyncScheduling = false, false, false
	if err := Resolve(&s); err != nil {
		t.Fatal(err)
	}
	r, tiers := New(&s), &oneBlock{}
	r.Attach(tiers)
	for row := range int32(2) {
		r.Submit(&engine.Request{Row: row, InputTokens: 2, MaxTokens: 8})
	}
	var p engine.Pass
	var fx engine.Effects
	for len(tiers.loading) == 0 {
		fx.Reset()
		switch d := r.Schedule(&p, &fx); {
		case d == engine.Decided:
			r.Complete(1, &fx)
		case d == engine.Idle && len(tiers.loading) == 0:
			t.Fatal("nothing is loaded")
		}
	}
	if _, _, stuck := r.Stuck(); stuck {
		t.Error("it is stuck while it loads")
	}
	r.Loaded(tiers.loading[0], 1)
	if d := r.Schedule(&p, &fx); d != engine.Idle {
		t.Fatalf("decided %v", d)
	}
	row, reason, stuck := r.Stuck()
	if row != 1 || !stuck || !strings.HasPrefix(reason, "needs_budget: 7 of 3") {
		t.Errorf("row %d, %q, %v", row, reason, stuck)
	}
}

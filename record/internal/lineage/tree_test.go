package lineage_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/record/internal/lineage"
)

// common is the length of the common beginning.
func common(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// A prompt is coded against what is found and comes back; what is found really is
// shared, and is the longest, where anything as long as a block is.
func TestTheLongestContextIsFound(t *testing.T) {
	const block = 16
	rapid.Check(t, func(t *rapid.T) {
		tree := lineage.New()
		var contexts [][]uint32
		token := rapid.Uint32Range(0, 1)
		for seq := int64(1); seq <= 12; seq++ {
			var ids []uint32
			if len(contexts) > 0 {
				of := rapid.SampledFrom(contexts).Draw(t, "of")
				ids = slices.Clone(of[:rapid.IntRange(0, len(of)).Draw(t, "keep")])
			}
			ids = append(ids, rapid.SliceOfN(token, 0, 40).Draw(t, "own")...)
			base, keep := tree.Longest(ids, seq-1)
			longest := 0
			for _, c := range contexts {
				longest = max(longest, common(c, ids))
			}
			switch {
			case keep > 0 && common(contexts[base-1], ids) != keep:
				t.Fatalf("%d kept of call %d, which shares %d", keep, base, common(contexts[base-1], ids))
			case keep < longest && longest >= block && keep < longest-longest%block:
				t.Fatalf("%d kept, %d are shared", keep, longest)
			}
			output := rapid.SliceOfN(token, 0, 20).Draw(t, "output")
			contexts = append(contexts, slices.Concat(ids, output))
			late := rapid.IntRange(0, len(output)).Draw(t, "late")
			tree.Add(seq, base, keep, slices.Concat(ids[keep:], output[:late]))
			tree.Extend(seq, output[late:])
			if got := tree.IDs(seq); !slices.Equal(got, contexts[seq-1]) {
				t.Fatalf("call %d: %v, want %v", seq, got, contexts[seq-1])
			}
		}
	})
}

func TestAHintFindsWhatIsShorterThanABlock(t *testing.T) {
	tree := lineage.New()
	tree.Add(1, 0, 0, []uint32{1, 2, 3})
	if base, keep := tree.Longest([]uint32{1, 2, 9}, 0); base != 0 || keep != 0 {
		t.Error(base, keep)
	}
	if base, keep := tree.Longest([]uint32{1, 2, 9}, 1); base != 1 || keep != 2 {
		t.Error(base, keep)
	}
}

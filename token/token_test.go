package token

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func seq32(from, to uint32) []uint32 {
	var ids []uint32
	for i := from; i < to; i++ {
		ids = append(ids, i)
	}
	return ids
}

// The vectors of spec/engine.md 15.3 and spec/replay.md 10.3: keys of explicit
// tokens. The local hash of a later block is checked through its chained key.
func TestKeysOfExplicitTokens(t *testing.T) {
	ones := []uint32{1, 1, 1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		id   string
		ids  []uint32
		size int
		want []Key
	}{
		{"HASH-3,4", seq32(0, 16), 4, []Key{9143094415614847814, 9510318385840434533, 16998148715716822651, 16790386768269814709}},
		{"HASH-5", seq32(1, 9), 4, []Key{14643705804678351452, 4945711292740353085}},
		{"HASH-6", ones, 4, []Key{17197628134376687251, 2400806739079874430}},
		{"HASH-7", seq32(0, 128), 64, []Key{3480597578098033343, 2575318956255022795}},
		{"HASH-8", seq32(0, 4), 1, []Key{16451421758532862321, 5478772005252122579, 8728082533856879489, 10740847682028703751}},
		{"HASH-9", seq32(0, 64), 32, []Key{5756925433886871916, 16658382216643214443}},
		{"V-36", seq32(1, 13), 4, []Key{14643705804678351452, 4945711292740353085, 12583592247330656132}},
		{"V-37", []uint32{1, 1, 1, 1, 2, 2, 2, 2, 0, 1, 2, 3}, 4, []Key{17197628134376687251, 4664792416409342960, 16884689087067212516}},
	} {
		if got := IDs(c.ids).Keys(nil, c.size); !slices.Equal(got, c.want) {
			t.Errorf("%s: keys %v, want %v", c.id, got, c.want)
		}
	}
}

// The vectors of spec/buckets.md 5.1: keys of trace blocks.
func TestKeysOfTraceBlocks(t *testing.T) {
	long := Blocks([]uint64{0, 1, 2, 3}, 512, 2048, 0).Keys(nil, 64)
	if len(long) != 32 || long[0] != 3127024960330812425 || long[8] != 17685026471085887635 {
		t.Errorf("blocks inside ids: %d keys, block 0 %d, block 8 %d", len(long), long[0], long[8])
	}
	across := Blocks([]uint64{5, 7, 7}, 4, 12, 0).Keys(nil, 6)
	if want := []Key{14790819342848617750, 8922980996824118161}; !slices.Equal(across, want) {
		t.Errorf("blocks across ids: %v, want %v", across, want)
	}
}

// V-25 of spec/replay.md 10.3: six tokens, ids of four; only full blocks count.
func TestOnlyFullBlocksAreNamed(t *testing.T) {
	s := Blocks([]uint64{1, 2}, 4, 6, 0)
	if n := len(s.Words(nil, 4)); n != 1 {
		t.Errorf("engine block 4: %d full blocks, want 1", n)
	}
	if w := s.Words(nil, 2); !slices.Equal(w, []uint64{1, 1, 2}) {
		t.Errorf("engine block 2: words %v, want [1 1 2]", w)
	}
}

func TestIdsAre64BitsWide(t *testing.T) {
	ids := []uint64{1, 1 << 32, 1<<32 + 1, 1 << 53, 1<<53 + 1, 1<<64 - 1}
	seen := map[uint64]bool{}
	for _, id := range ids {
		w := Blocks([]uint64{id}, 16, 16, 0).Words(nil, 16)
		if seen[w[0]] {
			t.Errorf("id %d shares its word with another id", id)
		}
		seen[w[0]] = true
	}
}

func TestScopesKeepEqualIdsApart(t *testing.T) {
	global := Blocks([]uint64{7}, 16, 16, 0)
	a := Blocks([]uint64{7}, 16, 16, Identity("a.jsonl"))
	b := Blocks([]uint64{7}, 16, 16, Identity("b.jsonl"))
	words := []uint64{global.Words(nil, 16)[0], a.Words(nil, 16)[0], b.Words(nil, 16)[0]}
	keys := []Key{global.Keys(nil, 16)[0], a.Keys(nil, 16)[0], b.Keys(nil, 16)[0]}
	if words[0] == words[1] || words[1] == words[2] || keys[0] == keys[1] || keys[1] == keys[2] {
		t.Errorf("scopes do not separate: words %v, keys %v", words, keys)
	}
}

func TestExtendSharesOnlyWhatIsKept(t *testing.T) {
	input := IDs(seq32(0, 10))
	context := input.Extend(10, Stream(Identity("n0"), 5))
	next := context.Extend(12, IDs(seq32(100, 104)))
	if next.Len() != 16 {
		t.Fatalf("length %d, want 16", next.Len())
	}
	cut := context.Extend(7, IDs(seq32(100, 103)))
	flat := IDs(append(seq32(0, 7), seq32(100, 103)...))
	if a, b := cut.Keys(nil, 2), flat.Keys(nil, 2); !slices.Equal(a, b) {
		t.Errorf("keys through a chain %v, flat %v", a, b)
	}
	if p, keep := cut.Parent(); p != input || keep != 7 {
		t.Errorf("a cut inside the input must hang on the input, not on the output")
	}
}

// However a sequence is put together, its words and keys are those of its tokens.
func TestIdentityDoesNotDependOnAssembly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Uint32Range(0, 3), 0, 40).Draw(t, "tokens")
		size := rapid.IntRange(1, 9).Draw(t, "block size")
		var chain *Seq
		for rest := tokens; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			tail := IDs(rest[:n])
			if n > 1 {
				tail = IDs(rest[:1]).Extend(1, IDs(rest[1:n]))
			}
			chain = chain.Extend(chain.Len(), tail)
			rest = rest[n:]
		}
		flat := IDs(tokens)
		if !slices.Equal(chain.Words(nil, size), flat.Words(nil, size)) {
			t.Fatalf("words differ")
		}
		if !slices.Equal(chain.Keys(nil, size), flat.Keys(nil, size)) {
			t.Fatalf("keys differ")
		}
		if len(flat.Keys(nil, size)) != len(tokens)/size {
			t.Fatalf("not one key for each full block")
		}
	})
}

// Words and keys agree on which prefixes are equal, for trace blocks too.
func TestWordsAndKeysSeeTheSamePrefixes(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) *Seq {
		size := rapid.SampledFrom([]int{2, 4, 6}).Draw(t, "trace block")
		ids := rapid.SliceOfN(rapid.Uint64Range(0, 1), 1, 6).Draw(t, "ids")
		cut := rapid.IntRange(0, size-1).Draw(t, "cut")
		s := Blocks(ids, size, len(ids)*size-cut, 0)
		return s.Extend(s.Len(), Stream(rapid.Uint64Range(1, 2).Draw(t, "maker"), 7))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		size := rapid.IntRange(1, 7).Draw(t, "block size")
		if shared(a.Words(nil, size), b.Words(nil, size)) != shared(a.Keys(nil, size), b.Keys(nil, size)) {
			t.Fatalf("words and keys disagree on the shared prefix")
		}
	})
}

func shared[T comparable](a, b []T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

package kvcache

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainPool does what Pool does block by block: the rules of spec/engine.md 5 and
// spec/vllm-real.md 3 written down once more, for comparison.
type plainPool struct {
	free  int
	idle  []*plainBlock            // released first comes first
	known map[string][]*plainBlock // copies of a content, oldest first
	step  int
	gone  []goneBlock
}

// goneBlock is content of which the last copy was evicted.
type goneBlock struct {
	key  string
	step int
}

type plainBlock struct {
	key  string // "" if nobody can find it
	refs int
}

type plainLease struct {
	words  []uint64
	blocks []*plainBlock
}

func chainKey(words []uint64) string { return fmt.Sprint(words) }

func (p *plainPool) match(words []uint64, limit int) (hit []*plainBlock, idle int) {
	for i := range min(limit, len(words)) {
		c := p.known[chainKey(words[:i+1])]
		if len(c) == 0 {
			break
		}
		hit = append(hit, c[0])
		if c[0].refs == 0 {
			idle++
		}
	}
	return hit, idle
}

func (p *plainPool) fresh(n int) (out []*plainBlock) {
	for range n {
		if p.free > 0 {
			p.free--
		} else {
			b := p.idle[0]
			p.idle = p.idle[1:]
			p.forget(b)
		}
		out = append(out, &plainBlock{refs: 1})
	}
	return out
}

func (p *plainPool) forget(b *plainBlock) {
	if b.key == "" {
		return
	}
	c := p.known[b.key]
	p.known[b.key] = slices.Delete(c, slices.Index(c, b), slices.Index(c, b)+1)
	if len(c) == 1 {
		p.gone = append(p.gone, goneBlock{b.key, p.step})
	}
}

func (p *plainPool) take(l *plainLease, hit []*plainBlock, fresh int) {
	for _, b := range hit {
		if b.refs == 0 {
			i := slices.Index(p.idle, b)
			p.idle = slices.Delete(p.idle, i, i+1)
		}
		b.refs++
	}
	l.blocks = append(slices.Clone(hit), p.fresh(fresh)...)
}

func (p *plainPool) register(l *plainLease, upTo int) {
	for i := range upTo {
		if b := l.blocks[i]; b.key == "" {
			b.key = chainKey(l.words[:i+1])
			p.known[b.key] = append(p.known[b.key], b)
		}
	}
}

func (p *plainPool) release(l *plainLease, full int) {
	for i := len(l.blocks) - 1; i >= 0; i-- {
		b := l.blocks[i]
		if b.refs--; b.refs > 0 {
			continue
		}
		if i < full || b.key != "" {
			p.idle = append(p.idle, b)
		} else {
			p.free++
		}
	}
}

// Whatever is taken, registered and released: the pool of runs finds, counts and
// evicts what a pool of single blocks does.
func TestRunsBehaveLikeBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(4, 24).Draw(t, "size")
		p := NewPool(size, true)
		q := &plainPool{free: size, known: map[string][]*plainBlock{}}
		type pair struct {
			a    *Lease
			b    *plainLease
			held int
		}
		var live []*pair
		var gone []goneBlock
		p.Watch(func(words []uint64, lo, hi int32, step int) {
			for i := hi; i > lo; i-- {
				gone = append(gone, goneBlock{chainKey(words[:i]), step})
			}
		})
		check := func() {
			q.step++
			p.At(q.step)
			active := size - q.free - len(q.idle)
			if int(p.Active()) != active || int(p.Idle()) != len(q.idle) {
				t.Fatalf("active %d idle %d, want %d and %d", p.Active(), p.Idle(), active, len(q.idle))
			}
		}
		words := func() []uint64 {
			return rapid.SliceOfN(rapid.Uint64Range(0, 1), 0, 9).Draw(t, "words")
		}
		t.Repeat(map[string]func(*rapid.T){
			"look": func(t *rapid.T) {
				w, limit := words(), rapid.IntRange(0, 9).Draw(t, "limit")
				h := p.Match(w, int32(limit))
				hit, idle := q.match(w, limit)
				if int(h.Blocks) != len(hit) || int(h.Idle) != idle {
					t.Fatalf("hit %d (%d idle), want %d (%d idle)", h.Blocks, h.Idle, len(hit), idle)
				}
			},
			"take": func(t *rapid.T) {
				w := words()
				limit := rapid.IntRange(0, len(w)).Draw(t, "limit")
				h := p.Match(w, int32(limit))
				hit, _ := q.match(w, limit)
				fresh := rapid.IntRange(0, len(w)-len(hit)+1).Draw(t, "fresh")
				if int(h.Idle)+fresh > int(p.Available()) {
					return
				}
				n := &pair{a: &Lease{Words: w}, b: &plainLease{words: w}, held: len(hit) + fresh}
				p.Take(n.a, h, int32(fresh))
				q.take(n.b, hit, fresh)
				upTo := rapid.IntRange(len(hit), min(n.held, len(w))).Draw(t, "register")
				p.Register(n.a, int32(upTo))
				q.register(n.b, upTo)
				live = append(live, n)
				check()
			},
			"grow": func(t *rapid.T) {
				if len(live) == 0 || p.Available() == 0 {
					return
				}
				n := live[rapid.IntRange(0, len(live)-1).Draw(t, "lease")]
				if n.held < len(n.a.Words) || rapid.Bool().Draw(t, "beyond") {
					p.Grow(1)
					n.b.blocks = append(n.b.blocks, q.fresh(1)...)
					n.held++
				}
				upTo := rapid.IntRange(int(n.a.Registered()), max(int(n.a.Registered()), min(n.held, len(n.a.Words)))).Draw(t, "register")
				p.Register(n.a, int32(upTo))
				q.register(n.b, upTo)
				check()
			},
			"release": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "lease")
				n := live[i]
				full := rapid.IntRange(int(n.a.Registered()), n.held).Draw(t, "full")
				p.Release(n.a, int32(n.held), int32(full))
				q.release(n.b, full)
				live = slices.Delete(live, i, i+1)
				check()
			},
			"": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "look late") {
					return
				}
				if err := audit(p); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(gone, q.gone) {
					t.Fatalf("evicted %v, want %v", gone, q.gone)
				}
			},
		})
	})
}

// hold takes words as fresh blocks and registers all of them.
func hold(t *testing.T, p *Pool, words ...uint64) *Lease {
	t.Helper()
	l := &Lease{Words: words}
	h := p.Match(words, int32(len(words)))
	p.Take(l, h, int32(len(words))-h.Blocks)
	p.Register(l, int32(len(words)))
	return l
}

// drop releases all registered blocks.
func drop(p *Pool, l *Lease) { n := l.Registered(); p.Release(l, n, n) }

func TestVectorPOOL2HitsOnIdleBlocksCostCapacity(t *testing.T) {
	p := NewPool(1, true)
	drop(p, hold(t, p, 9))
	h := p.Match([]uint64{9, 10}, 2)
	if h.Blocks != 1 || h.Idle != 1 {
		t.Fatalf("hit %+v, want one idle block", h)
	}
	if h.Idle+1 <= p.Available() {
		t.Errorf("a pool of one block must not give an idle hit and a fresh block")
	}
}

func TestVectorPOOL3CopiesGoOneByOne(t *testing.T) {
	p := NewPool(4, true)
	var all []*Lease
	for range 4 { // four copies of one content
		l := &Lease{Words: []uint64{3}}
		p.Take(l, Hit{}, 1)
		p.Register(l, 1)
		all = append(all, l)
	}
	if p.Active() != 4 {
		t.Fatalf("POOL-1: active %d, want 4", p.Active())
	}
	for _, l := range all {
		drop(p, l)
	}
	for i := range 4 {
		p.Grow(1)
		if found := p.Match([]uint64{3}, 1).Blocks == 1; found != (i < 3) {
			t.Errorf("after eviction %d: found %v", i+1, found)
		}
	}
}

func TestVectorPOOL5HitsLeaveTheOrderOfEviction(t *testing.T) {
	p := NewPool(3, true)
	for w := range uint64(3) {
		drop(p, hold(t, p, w+1))
	}
	l := &Lease{Words: []uint64{2}}
	p.Take(l, p.Match(l.Words, 1), 1)
	has := func(w uint64) bool { return p.Match([]uint64{w}, 1).Blocks == 1 }
	if has(1) || !has(2) || !has(3) {
		t.Fatalf("the oldest block that is not held must go")
	}
	p.Release(l, 2, 1)
	p.Grow(2)
	if has(3) || !has(2) {
		t.Errorf("a block that was held again is the youngest")
	}
}

// POOL-6 to POOL-9 of spec/engine.md 15.4: two prompts with two blocks in common.
func TestVectorPOOL6to9SharedPrefixOutlivesItsSuffixes(t *testing.T) {
	p := NewPool(10, true)
	p1 := &Lease{Words: []uint64{0, 1, 2, 3}}
	p.Take(p1, p.Match(p1.Words, 3), 4)
	p.Register(p1, 3)
	if p.Active() != 4 {
		t.Fatalf("POOL-6: active %d, want 4", p.Active())
	}
	p.Grow(1) // 17 tokens
	p.Register(p1, 4)
	if p.Active() != 5 {
		t.Fatalf("POOL-6: active %d, want 5", p.Active())
	}
	p2 := &Lease{Words: []uint64{0, 1, 100}}
	h := p.Match(p2.Words, 3)
	if h.Blocks != 2 || h.Idle != 0 {
		t.Fatalf("POOL-7: hit %+v", h)
	}
	p.Take(p2, h, 2)
	p.Register(p2, 3)
	if p.Active() != 7 {
		t.Fatalf("POOL-7: active %d, want 7", p.Active())
	}
	p.Release(p1, 5, 4)
	if p.Active() != 4 || p.Idle() != 2 {
		t.Fatalf("POOL-8: active %d idle %d, want 4 and 2", p.Active(), p.Idle())
	}
	p.Release(p2, 4, 3)
	if p.Active() != 0 || p.Idle() != 5 {
		t.Fatalf("POOL-8: active %d idle %d, want 0 and 5", p.Active(), p.Idle())
	}
	p.Grow(5)
	for i, left := range [][2]int32{{3, 3}, {2, 3}, {2, 2}, {1, 1}} { // blocks found of P1, of P2
		p.Grow(1)
		a := p.Match([]uint64{0, 1, 2, 3}, 4).Blocks
		b := p.Match([]uint64{0, 1, 100}, 3).Blocks
		if [2]int32{a, b} != left {
			t.Errorf("POOL-9: after %d evictions %d and %d blocks are left, want %v", i+1, a, b, left)
		}
	}
	if p.Active() != 9 || p.Idle() != 1 {
		t.Errorf("POOL-9: active %d idle %d, want 9 and 1", p.Active(), p.Idle())
	}
}

func TestBlocksNobodyCanNameStillTakeRoom(t *testing.T) {
	p := NewPool(6, true)
	l := &Lease{}
	p.Take(l, Hit{}, 4)
	p.Release(l, 4, 3)
	if p.Active() != 0 || p.Idle() != 3 {
		t.Fatalf("active %d idle %d, want 0 and 3", p.Active(), p.Idle())
	}
	b := hold(t, p, 1, 2, 3)
	drop(p, b)
	p.Grow(3)
	if n := p.Match([]uint64{1, 2, 3}, 3).Blocks; n != 3 {
		t.Errorf("older nameless blocks must go first; %d of 3 named blocks left", n)
	}
}

func TestWithoutCachingNothingIsFound(t *testing.T) {
	p := NewPool(4, false)
	l := hold(t, p, 1, 2)
	p.Release(l, 2, 2)
	if p.Active() != 0 || p.Idle() != 0 || p.Match([]uint64{1, 2}, 2).Blocks != 0 {
		t.Errorf("active %d idle %d", p.Active(), p.Idle())
	}
}

func TestGrowingLeasesAreReported(t *testing.T) {
	p := NewPool(8, true)
	l := &Lease{Words: []uint64{1, 2, 3, 4}, Grows: true}
	p.Take(l, Hit{}, 2)
	p.Register(l, 2)
	if h := p.Match([]uint64{1, 2, 3}, 3); h.Blocks != 2 || !h.Growing {
		t.Errorf("hit %+v, want two blocks that may grow", h)
	}
	if h := p.Match([]uint64{1, 2}, 2); h.Growing {
		t.Errorf("hit %+v: all that was asked for is there", h)
	}
	p.Release(l, 2, 2)
	if h := p.Match([]uint64{1, 2, 3}, 3); h.Growing {
		t.Errorf("hit %+v: nobody holds it any more", h)
	}
}

func BenchmarkUnsharedRequest(b *testing.B) {
	p := NewPool(16384, true)
	words := make([]uint64, 8)
	for i := range b.N {
		w := slices.Clone(words)
		w[0] = uint64(i)
		l := &Lease{Words: w}
		p.Take(l, p.Match(w, 7), 8)
		p.Register(l, 8)
		p.Grow(8)
		p.Release(l, 16, 15)
	}
}

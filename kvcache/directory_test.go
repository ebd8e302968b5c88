package kvcache

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainDirectory does block by block what Directory does run by run: the words of
// spec/buckets.md 6.1 once more.
type plainDirectory struct {
	blocks map[string][]*plainHolding // by content
	recent [][]*plainHolding          // host memories, least recent first
	size   int
	rules  Visibility
}

type plainHolding struct {
	instance        int32
	device, host    bool
	pins            int
	published, gone float64
}

func (d *plainDirectory) of(instance int32, words []uint64, i int32) *plainHolding {
	for _, h := range d.blocks[chainKey(words[:i+1])] {
		if h.instance == instance {
			return h
		}
	}
	return nil
}

func (d *plainDirectory) visible(h *plainHolding, t float64) bool {
	return h != nil && t < h.published+d.rules.TTLMs && t < h.gone
}

func (d *plainDirectory) store(instance int32, words []uint64, from, to int32, t float64) {
	for i := from; i < to; i++ {
		h := d.of(instance, words, i)
		if h == nil {
			h = &plainHolding{instance: instance}
			k := chainKey(words[:i+1])
			d.blocks[k] = append(d.blocks[k], h)
		}
		h.device, h.published, h.gone = true, t, math.Inf(1)
	}
}

func (d *plainDirectory) keep(instance int32, words []uint64, from, to int32, t float64) {
	for i := to - 1; i >= from; i-- {
		h := d.of(instance, words, i)
		list := &d.recent[instance]
		if h.host {
			at := slices.Index(*list, h)
			*list = append(slices.Delete(*list, at, at+1), h)
			continue
		}
		if len(*list) == d.size {
			at := slices.IndexFunc(*list, func(h *plainHolding) bool { return h.pins == 0 })
			if at < 0 {
				continue
			}
			gone := (*list)[at]
			*list = slices.Delete(*list, at, at+1)
			gone.host = false
			if !gone.device {
				gone.gone = min(gone.gone, t+d.rules.WithdrawMs)
			}
		}
		h.host = true
		*list = append(*list, h)
	}
}

func (d *plainDirectory) use(instance int32, words []uint64, hits, found int32, t float64) {
	for i := range hits {
		if h := d.of(instance, words, i); h != nil && h.device {
			h.published, h.gone = t, math.Inf(1)
		}
	}
	for i := found - 1; i >= 0; i-- {
		if h := d.of(instance, words, i); h != nil && h.host {
			list := &d.recent[instance]
			at := slices.Index(*list, h)
			*list = append(slices.Delete(*list, at, at+1), h)
		}
	}
}

func (d *plainDirectory) evict(instance int32, words []uint64, lo, hi int32, t float64) {
	for i := lo; i < hi; i++ {
		if h := d.of(instance, words, i); h != nil {
			if h.device = false; !h.host {
				h.gone = min(h.gone, t+d.rules.WithdrawMs)
			}
		}
	}
}

func (d *plainDirectory) prefix(instances int, words []uint64, limit int32, t float64) (each []int32, all int32) {
	each = make([]int32, instances)
	for i := range limit {
		for o := range int32(instances) {
			if d.visible(d.of(o, words, i), t) {
				if all == i {
					all = i + 1
				}
				if each[o] == i {
					each[o] = i + 1
				}
			}
		}
	}
	return each, all
}

func (d *plainDirectory) find(f *Finder, words []uint64, from, limit int32, t float64) (out []Source) {
	own := func(i int32) bool { h := d.of(f.Instance, words, i); return f.Host && h != nil && h.host }
	for b := from; b < limit; {
		s := Source{From: b, Host: own(b)}
		if s.Host {
			for b < limit && own(b) {
				b++
			}
		} else if f.Remote {
			best, backlog := int32(0), 0.0
			for o := range int32(len(d.recent)) {
				if o == f.Instance || !f.Usable(o) {
					continue
				}
				n := int32(0)
				for b+n < limit && !own(b+n) && d.visible(d.of(o, words, b+n), t) {
					n++
				}
				if n > best || n > 0 && n == best && f.Backlog(o) < backlog {
					best, s.Owner, backlog = n, o, f.Backlog(o)
				}
			}
			b += best
		}
		if s.Blocks = b - s.From; s.Blocks == 0 {
			break
		}
		out = append(out, s)
	}
	return out
}

// Whatever instances compute, use and lose: the directory of runs says of every
// block what a directory of single blocks says.
func TestRunsAreOwnedLikeBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const instances = 3
		v := Visibility{
			TTLMs:      rapid.SampledFrom([]float64{20, 200, math.Inf(1)}).Draw(t, "ttl"),
			WithdrawMs: rapid.SampledFrom([]float64{0, 15, math.Inf(1)}).Draw(t, "withdraw"),
		}
		size := rapid.IntRange(0, 9).Draw(t, "host")
		d := NewDirectory(instances, size, v)
		d.swept = -500 // sweep often
		late := NewDirectory(instances, 0, v)
		d.Watch(late.Apply)
		p := &plainDirectory{blocks: map[string][]*plainHolding{}, recent: make([][]*plainHolding, instances), size: size, rules: v}
		now := 0.0
		type load struct {
			instance int32
			words    []uint64
			from, to int32
		}
		var loads []load
		words := func(t *rapid.T) []uint64 {
			return rapid.SliceOfN(rapid.Uint64Range(0, 1), 1, 7).Draw(t, "words")
		}
		part := func(t *rapid.T, w []uint64) (lo, hi int32) {
			hi = int32(rapid.IntRange(1, len(w)).Draw(t, "to"))
			return int32(rapid.IntRange(0, int(hi)-1).Draw(t, "from")), hi
		}
		who := rapid.Int32Range(0, instances-1)
		t.Repeat(map[string]func(*rapid.T){
			"compute": func(t *rapid.T) {
				i, w := who.Draw(t, "instance"), words(t)
				lo, hi := part(t, w)
				d.Store(i, w, lo, hi, now)
				p.store(i, w, lo, hi, now)
				k := int32(rapid.IntRange(int(lo), int(hi)).Draw(t, "prompt"))
				d.Keep(i, w, lo, k, now)
				p.keep(i, w, lo, k, now)
			},
			"use": func(t *rapid.T) {
				i, w := who.Draw(t, "instance"), words(t)
				hits, found := part(t, w)
				d.Use(i, w, hits, found, now)
				p.use(i, w, hits, found, now)
			},
			"evict": func(t *rapid.T) {
				i, w := who.Draw(t, "instance"), words(t)
				lo, hi := part(t, w)
				for hi > lo && p.of(i, w, hi-1) == nil { // what is evicted was stored
					hi--
				}
				d.Evict(i, w, lo, hi, now)
				p.evict(i, w, lo, hi, now)
			},
			"load": func(t *rapid.T) {
				i, w := who.Draw(t, "instance"), words(t)
				lo, hi := part(t, w)
				n := d.InHost(i, w, lo, hi)
				if n == 0 {
					return
				}
				d.Pin(i, w, lo, lo+n)
				for b := lo; b < lo+n; b++ {
					p.of(i, w, b).pins++
				}
				loads = append(loads, load{i, w, lo, lo + n})
			},
			"loaded": func(t *rapid.T) {
				if len(loads) == 0 {
					return
				}
				l := loads[0]
				loads = loads[1:]
				d.Unpin(l.instance, l.words, l.from, l.to)
				for b := l.from; b < l.to; b++ {
					p.of(l.instance, l.words, b).pins--
				}
			},
			"time": func(t *rapid.T) { now += float64(rapid.IntRange(1, 15).Draw(t, "ms")) },
			"look": func(t *rapid.T) {
				w := words(t)
				lo, hi := part(t, w)
				each, all := p.prefix(instances, w, hi, now)
				for name, d := range map[string]*Directory{"itself": d, "its changes": late} {
					got := make([]int32, instances)
					if any := d.Prefix(got, w, hi, now); any != all || !slices.Equal(got, each) {
						t.Fatalf("by %s: prefixes %v, any %d; want %v, %d", name, got, any, each, all)
					}
				}
				f := &Finder{
					Instance: who.Draw(t, "instance"), Host: true, Remote: true,
					Usable: func(o int32) bool { return o != 2 || size%2 == 0 }, Backlog: func(o int32) float64 { return float64((o + int32(size)) % 2) },
				}
				if got, want := d.Find(nil, f, w, lo, hi, now), p.find(f, w, lo, hi, now); !slices.Equal(got, want) {
					t.Fatalf("sources %+v, want %+v", got, want)
				}
				n := int32(0)
				for lo+n < hi {
					if h := p.of(f.Instance, w, lo+n); h == nil || !h.device && !h.host {
						break
					}
					n++
				}
				if got := d.Holds(f.Instance, w, lo, hi); got != n {
					t.Fatalf("holds %d blocks, want %d", got, n)
				}
			},
			"": func(t *rapid.T) {
				for i := range int32(instances) {
					if got := d.HostUsed(i); int(got) != len(p.recent[i]) {
						t.Fatalf("host of %d has %d blocks, want %d", i, got, len(p.recent[i]))
					}
				}
			},
		})
	})
}

func TestDeadEntriesAreSweptOut(t *testing.T) {
	d := NewDirectory(1, 0, Visibility{TTLMs: 10, WithdrawMs: math.Inf(1)})
	for i := range 100_000 {
		w := []uint64{uint64(i), 1, 2}
		d.Store(0, w, 0, 3, float64(i))
		d.Evict(0, w, 0, 3, float64(i))
	}
	if n := len(d.nodes); n > 5000 {
		t.Errorf("%d nodes for 10 that can be seen", n)
	}
}

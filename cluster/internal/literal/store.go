package literal

import "slices"

// store is the meta store of a bucket: who says that it has a block
// (spec/buckets.md 6.1).
type store struct {
	ttlMs, withdrawMs float64
	entries           map[string]map[int]entry // by name and instance
}

type entry struct{ published, gone float64 }

func (s *store) publish(name string, instance int, nowMs float64) {
	if s.entries[name] == nil {
		s.entries[name] = map[int]entry{}
	}
	s.entries[name][instance] = entry{nowMs, inf}
}

// withdraw says that an instance has lost its last copy of a block.
func (s *store) withdraw(name string, instance int, nowMs float64) {
	if e, ok := s.entries[name][instance]; ok {
		e.gone = min(e.gone, nowMs+s.withdrawMs)
		s.entries[name][instance] = e
	}
}

func (s *store) visible(name string, instance int, atMs float64) bool {
	e, ok := s.entries[name][instance]
	return ok && atMs < e.published+s.ttlMs && atMs < e.gone
}

// prefix is how many leading blocks an instance owns.
func (s *store) prefix(names []string, instance int, atMs float64) int {
	n := 0
	for n < len(names) && s.visible(names[n], instance, atMs) {
		n++
	}
	return n
}

// together is how many leading blocks have some owner.
func (s *store) together(names []string, instances int, atMs float64) int {
	n := 0
	for ; n < len(names); n++ {
		owned := false
		for i := range instances {
			owned = owned || s.visible(names[n], i, atMs)
		}
		if !owned {
			break
		}
	}
	return n
}

// copied is the store as it is.
func (s *store) copied() *store {
	c := &store{s.ttlMs, s.withdrawMs, map[string]map[int]entry{}}
	for name, owners := range s.entries {
		c.entries[name] = map[int]entry{}
		for i, e := range owners {
			c.entries[name][i] = e
		}
	}
	return c
}

// host is the host memory of an instance: blocks, the least recent first.
type host struct {
	size   int
	blocks []string
	pins   map[string]int // loads that count on a block
	lost   func(name string)
}

func (h *host) has(name string) bool { return slices.Contains(h.blocks, name) }

// touch makes a block the most recent one if it is there.
func (h *host) touch(name string) {
	if at := slices.Index(h.blocks, name); at >= 0 {
		h.blocks = append(slices.Delete(h.blocks, at, at+1), name)
	}
}

// keep puts a block in. If it is full, the least recent one goes that no load counts
// on; if there is none, the block is not stored.
func (h *host) keep(name string) {
	if h.has(name) {
		h.touch(name)
		return
	}
	if len(h.blocks) == h.size {
		at := slices.IndexFunc(h.blocks, func(b string) bool { return h.pins[b] == 0 })
		if at < 0 {
			return
		}
		gone := h.blocks[at]
		h.blocks = slices.Delete(h.blocks, at, at+1)
		h.lost(gone)
	}
	h.blocks = append(h.blocks, name)
}

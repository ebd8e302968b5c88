package kvcache

import (
	"fmt"
)

// audit recounts a pool from its parts and says what does not fit.
func audit(p *Pool) error {
	p.settle()
	active, idle := map[int32]int32{}, int32(0)
	for n := range p.nodes {
		nd := &p.nodes[n]
		if n == int(root) || nd.first == none {
			continue
		}
		if p.find(nd.parent, nd.words[nd.lo]) != int32(n) {
			return fmt.Errorf("node %d cannot be found from its parent", n)
		}
		if p.nodes[nd.parent].hi != nd.lo {
			return fmt.Errorf("node %d starts at %d, its parent ends at %d", n, nd.lo, p.nodes[nd.parent].hi)
		}
		for c := nd.first; c != none; c = p.entries[c].next {
			if p.entries[c].is.refs > 0 {
				active[c] = nd.len()
			}
		}
	}
	kids := map[int32]int32{}
	for _, s := range p.kids.slots {
		if s.node != 0 {
			kids[p.nodes[s.node].parent]++
		}
	}
	for n := range p.nodes {
		if p.nodes[n].kids != kids[int32(n)] {
			return fmt.Errorf("node %d counts %d children, has %d", n, p.nodes[n].kids, kids[int32(n)])
		}
	}
	seen := map[int32]bool{}
	for c := p.unused.oldest; c != none; c = p.entries[c].newer {
		if seen[c] || p.entries[c].is.refs != 0 {
			return fmt.Errorf("copy %d is in the idle list twice, or held", c)
		}
		seen[c] = true
		if n := p.entries[c].node; n == none {
			idle += p.entries[c].is.blocks
		} else {
			idle += p.nodes[n].len()
		}
	}
	if idle != p.idle {
		return fmt.Errorf("%d idle blocks counted, %d listed", p.idle, idle)
	}
	if p.active+p.idle > p.size || p.active < 0 || p.idle < 0 {
		return fmt.Errorf("active %d + idle %d of %d", p.active, p.idle, p.size)
	}
	return nil
}

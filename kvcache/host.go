package kvcache

// host is the host memory of one instance: blocks in order of their last use.
type host struct {
	recent list
	used   int32
	size   int32
}

func (h *host) init() { h.recent.init() }

// HostUsed is the number of blocks in an instance's host memory.
func (d *Directory) HostUsed(instance int32) int32 { return d.hosts[instance].used }

// Keep puts blocks [from, to) of words, which the instance has in its device, into
// its host memory, the last block first; what is there already becomes recent.
// Where it does not fit, the least recent blocks go that no load counts on; if
// there are none left, the rest is not kept.
func (d *Directory) Keep(instance int32, words []uint64, from, to int32, atMs float64) {
	h := &d.hosts[instance]
	if h.size == 0 {
		return
	}
	for to > from {
		nodes := d.span(words, from, to, false) // making room may have cut some
		n := nodes[len(nodes)-1]
		to = d.nodes[n].lo
		e := d.held(n, instance)
		if d.entries[e].is.host {
			d.refresh(h, e)
			continue
		}
		if over := h.used + d.nodes[n].len() - h.size; over > 0 {
			d.dropHost(instance, over, atMs)
		}
		room := h.size - h.used
		if room == 0 {
			continue
		}
		if room < d.nodes[n].len() { // its own end would be the least recent by now
			n = d.cut(n, d.nodes[n].lo+room)
			e = d.held(n, instance)
		}
		d.entries[e].is.host = true
		h.used += d.nodes[n].len()
		d.push(&h.recent, e)
	}
}

// touch makes the host copies among the first n blocks of words recent, the last
// one first.
func (d *Directory) touch(instance int32, words []uint64, n int32) {
	h := &d.hosts[instance]
	if h.used == 0 {
		return
	}
	nodes := d.span(words, 0, n, false)
	for i := len(nodes) - 1; i >= 0; i-- {
		if e := d.held(nodes[i], instance); e != none && d.entries[e].is.host {
			d.refresh(h, e)
		}
	}
}

// refresh makes an entry the most recent one.
func (d *Directory) refresh(h *host, e int32) {
	d.unlink(&h.recent, e)
	d.push(&h.recent, e)
}

// dropHost drops at most n blocks from an instance's host memory, the least recent
// ones that no load counts on.
func (d *Directory) dropHost(instance, n int32, atMs float64) {
	h := &d.hosts[instance]
	for e := h.recent.oldest; e != none && n > 0; {
		next := d.entries[e].newer
		if d.entries[e].is.pins == 0 {
			nd := d.entries[e].node
			if d.nodes[nd].len() > n {
				d.cut(nd, d.nodes[nd].hi-n) // e keeps the end
			}
			n -= d.nodes[nd].len()
			h.used -= d.nodes[nd].len()
			d.unlink(&h.recent, e)
			d.entries[e].is.host = false
			if !d.entries[e].is.device {
				d.lose(nd, e, atMs)
			}
		}
		e = next
	}
}

// Pin keeps the host copies among blocks [from, to) of words until Unpin: a load
// counts on them.
func (d *Directory) Pin(instance int32, words []uint64, from, to int32) {
	d.pin(instance, words, from, to, 1)
}

// Unpin takes a Pin back.
func (d *Directory) Unpin(instance int32, words []uint64, from, to int32) {
	d.pin(instance, words, from, to, -1)
}

func (d *Directory) pin(instance int32, words []uint64, from, to, by int32) {
	for _, n := range d.span(words, from, to, false) {
		if e := d.held(n, instance); e != none {
			d.entries[e].is.pins += by
		}
	}
}

package stats

import "github.com/reprise-sim/reprise/token"

// recency knows how many others have been used since something was used last.
//
// Each use takes the next of a row of slots; a Fenwick tree counts the taken slots.
// When the row is full, it is closed up.
type recency struct {
	slot  map[token.Key]int32 // of the last use
	names []token.Key         // by slot
	taken []bool              // by slot: it is the last use of its name
	tree  []int32             // Fenwick tree over taken, from 1
	next  int32
}

func newRecency() *recency {
	r := &recency{slot: map[token.Key]int32{}}
	r.resize(1 << 12)
	return r
}

// len is the number of different names.
func (r *recency) len() int { return len(r.slot) }

// since is how many other names have been used since name was; it is false if name
// has never been used.
func (r *recency) since(name token.Key) (n int, ok bool) {
	slot, ok := r.slot[name]
	if !ok {
		return 0, false
	}
	return len(r.slot) - int(r.sum(slot)), true
}

// use notes a use of name.
func (r *recency) use(name token.Key) {
	if int(r.next) == len(r.names) {
		r.closeUp()
	}
	if slot, ok := r.slot[name]; ok {
		r.add(slot, -1)
		r.taken[slot] = false
	}
	r.slot[name] = r.next
	r.names[r.next], r.taken[r.next] = name, true
	r.add(r.next, 1)
	r.next++
}

// closeUp moves all last uses to the front of a row that is half empty.
func (r *recency) closeUp() {
	names, taken := r.names, r.taken
	r.resize(max(len(names), 2*len(r.slot)))
	for i, name := range names {
		if taken[i] {
			r.slot[name] = r.next
			r.names[r.next], r.taken[r.next] = name, true
			r.add(r.next, 1)
			r.next++
		}
	}
}

// resize starts an empty row of n slots.
func (r *recency) resize(n int) {
	r.names, r.taken, r.tree, r.next = make([]token.Key, n), make([]bool, n), make([]int32, n+1), 0
}

// add changes the count of a slot.
func (r *recency) add(slot, by int32) {
	for i := slot + 1; int(i) < len(r.tree); i += i & -i {
		r.tree[i] += by
	}
}

// sum is the number of taken slots up to slot.
func (r *recency) sum(slot int32) (n int32) {
	for i := slot + 1; i > 0; i -= i & -i {
		n += r.tree[i]
	}
	return n
}

package column

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// AtRanks returns the samples at the given ranks of the sorted union of columns;
// rank 0 is the smallest sample, a sample of weight w has w ranks. Ranks lie in
// [0, total weight).
//
// Nothing is sorted but a few samples around each answer: a counting pass over
// bins of the samples' bit patterns tells in which bin an answer lies, a second
// pass gathers these bins (spec/fast-path.md 8). A bin too full to be gathered is
// counted again, more finely. So memory is bounded whatever the samples are.
func AtRanks(ranks []int64, columns ...*Column) ([]float64, error) {
	s := selection{columns: columns, out: make([]float64, len(ranks))}
	all := interval{lo: math.MaxUint64}
	for _, c := range columns {
		s.room = int64(c.spill.pageLen)
		if c.weight > 0 {
			all.lo, all.hi = min(all.lo, key(c.min)), max(all.hi, key(c.max))
		}
	}
	for i, r := range ranks {
		all.wanted = append(all.wanted, wanted{r, i})
	}
	slices.SortFunc(all.wanted, func(a, b wanted) int { return cmp.Compare(a.rank, b.rank) })
	err := s.narrow(all)
	return s.out, err
}

// binBits is how many bits of a key one counting pass decides.
const binBits = 14

// selection is one call of AtRanks.
type selection struct {
	columns []*Column
	out     []float64
	room    int64 // samples that may be gathered at once
	buffer  buffer
}

// interval is a range of keys, both ends inside, and the ranks to be found in it,
// ascending, counted from the interval's smallest sample.
type interval struct {
	lo, hi uint64
	wanted []wanted
}

// wanted is a rank and the index of its answer.
type wanted struct {
	rank int64
	out  int
}

// bin counts the samples of a range of keys.
type bin struct{ samples, weight int64 }

// narrow answers all ranks of an interval.
func (s *selection) narrow(iv interval) error {
	if len(iv.wanted) == 0 {
		return nil
	}
	if iv.lo == iv.hi {
		for _, w := range iv.wanted {
			s.out[w.out] = value(iv.lo)
		}
		return nil
	}
	shift := max(0, bits.Len64(iv.hi-iv.lo)-binBits)
	bins, err := s.count(iv, shift)
	if err != nil {
		return err
	}
	few, many := iv.split(bins, shift, s.room)
	if err := s.gather(iv, shift, few); err != nil {
		return err
	}
	for _, sub := range many {
		if err := s.narrow(sub); err != nil {
			return err
		}
	}
	return nil
}

// count counts the samples of an interval in bins of 1<<shift keys.
func (s *selection) count(iv interval, shift int) ([]bin, error) {
	bins := make([]bin, 1<<binBits)
	span := iv.hi - iv.lo
	err := s.each(func(values []float64, weight int64) {
		for _, v := range values {
			if k := key(v) - iv.lo; k <= span {
				b := &bins[k>>shift&(1<<binBits-1)]
				b.samples++
				b.weight += weight
			}
		}
	})
	return bins, err
}

// split returns the bins in which ranks are wanted: few are those that can be
// gathered together in the given room, many the others.
func (iv *interval) split(bins []bin, shift int, room int64) (few, many []interval) {
	below, todo := int64(0), iv.wanted
	for i, b := range bins {
		sub := interval{lo: iv.lo + uint64(i)<<shift, hi: min(iv.hi, iv.lo+(uint64(i+1)<<shift-1))}
		for len(todo) > 0 && todo[0].rank < below+b.weight {
			sub.wanted = append(sub.wanted, wanted{todo[0].rank - below, todo[0].out})
			todo = todo[1:]
		}
		below += b.weight
		switch {
		case len(sub.wanted) == 0:
		case shift > 0 && b.samples <= room:
			room -= b.samples
			few = append(few, sub)
		default:
			many = append(many, sub)
		}
	}
	return few, many
}

// gather answers the ranks of some bins of an interval by sorting their samples.
func (s *selection) gather(iv interval, shift int, few []interval) error {
	if len(few) == 0 {
		return nil
	}
	var index [1 << binBits]uint16 // 1 + position in few
	for i, sub := range few {
		index[(sub.lo-iv.lo)>>shift] = uint16(i + 1)
	}
	found := make([][]sample, len(few))
	span := iv.hi - iv.lo
	err := s.each(func(values []float64, weight int64) {
		for _, v := range values {
			k := key(v) - iv.lo
			if k > span {
				continue
			}
			if at := index[k>>shift&(1<<binBits-1)]; at > 0 {
				found[at-1] = append(found[at-1], sample{v, weight})
			}
		}
	})
	if err != nil {
		return err
	}
	for i, sub := range few {
		s.pick(found[i], sub.wanted)
	}
	return nil
}

// sample is a value that counts weight times.
type sample struct {
	value  float64
	weight int64
}

// pick answers the ranks of an interval of which all samples are given.
func (s *selection) pick(found []sample, todo []wanted) {
	slices.SortFunc(found, func(a, b sample) int { return cmp.Compare(key(a.value), key(b.value)) })
	below := int64(0)
	for _, f := range found {
		for len(todo) > 0 && todo[0].rank < below+f.weight {
			s.out[todo[0].out] = f.value
			todo = todo[1:]
		}
		below += f.weight
	}
}

// each calls visit for the samples of all columns.
func (s *selection) each(visit func(values []float64, weight int64)) error {
	for _, c := range s.columns {
		if err := c.each(&s.buffer, visit); err != nil {
			return err
		}
	}
	return nil
}

// key maps floats to integers of the same order.
func key(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// value is the float of a key.
func value(k uint64) float64 {
	return math.Float64frombits(k ^ (uint64(int64(^k)>>63) | 1<<63))
}

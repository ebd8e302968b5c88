package column

import "slices"

// PageLen is how many samples a column keeps in memory (DESIGN.md 8).
const PageLen = 1 << 16

// Column is a multiset of samples. None of them may be NaN. After an error it is
// of no use any more. A column is not safe
// for concurrent use, nor are columns of one Spill at the same time.
type Column struct {
	spill    *Spill
	values   []float64 // those that are not in the file
	runs     []run     // their weights
	pages    []page    // those in the file
	weight   int64
	min, max float64
}

// run is the weight of n consecutive samples.
type run struct{ n, weight int64 }

// page is PageLen samples and their runs, one behind the other in the file.
type page struct {
	offset int64
	runs   int
}

// New returns an empty column.
func New(s *Spill) *Column { return &Column{spill: s} }

// Len is the number of samples, each as often as its weight says.
func (c *Column) Len() int64 { return c.weight }

// Min is the smallest sample of a column that is not empty.
func (c *Column) Min() float64 { return c.min }

// Max is the largest sample of a column that is not empty.
func (c *Column) Max() float64 { return c.max }

// Add adds a sample.
func (c *Column) Add(v float64) error {
	if c.weight == 0 {
		c.min, c.max = v, v
	} else if v < c.min {
		c.min = v
	} else if v > c.max {
		c.max = v
	}
	c.values = append(c.values, v)
	return c.weigh(1, 1)
}

// AddEqual adds samples that count weight times each, weight > 0.
func (c *Column) AddEqual(values []float64, weight int64) error {
	if len(values) == 0 {
		return nil
	}
	lo, hi := c.min, c.max
	if c.weight == 0 {
		lo, hi = values[0], values[0]
	}
	for _, v := range values {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	c.min, c.max = lo, hi
	for len(values) > 0 {
		n := min(len(values), c.spill.pageLen-len(c.values))
		c.values = append(c.values, values[:n]...)
		if err := c.weigh(n, weight); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// weigh notes the weight of the n last values and moves the page to the file if
// it is full.
func (c *Column) weigh(n int, weight int64) error {
	c.weight += int64(n) * weight
	if last := len(c.runs) - 1; last >= 0 && c.runs[last].weight == weight {
		c.runs[last].n += int64(n)
	} else {
		c.runs = append(c.runs, run{int64(n), weight})
	}
	if len(c.values) < c.spill.pageLen {
		return nil
	}
	at, err := write(c.spill, c.values)
	if err != nil {
		return err
	}
	if _, err := write(c.spill, c.runs); err != nil {
		return err
	}
	c.pages = append(c.pages, page{at, len(c.runs)})
	c.values, c.runs = c.values[:0], c.runs[:0]
	return nil
}

// Values calls visit for all samples, in the order in which they were added, in
// pieces of equal weight. visit must not keep or change them.
func (c *Column) Values(visit func(values []float64, weight int64)) error {
	return c.each(new(buffer), visit)
}

// buffer is room for a page from the file.
type buffer struct {
	values []float64
	runs   []run
}

// each is Values with a buffer that is made when it is needed.
func (c *Column) each(b *buffer, visit func(values []float64, weight int64)) error {
	for _, p := range c.pages {
		n := c.spill.pageLen
		b.values = slices.Grow(b.values[:0], n)[:n]
		b.runs = slices.Grow(b.runs[:0], p.runs)[:p.runs]
		if err := read(c.spill, p.offset, b.values); err != nil {
			return err
		}
		if err := read(c.spill, p.offset+8*int64(n), b.runs); err != nil {
			return err
		}
		visitRuns(b.values, b.runs, visit)
	}
	visitRuns(c.values, c.runs, visit)
	return nil
}

func visitRuns(values []float64, runs []run, visit func(values []float64, weight int64)) {
	for _, r := range runs {
		visit(values[:r.n], r.weight)
		values = values[r.n:]
	}
}

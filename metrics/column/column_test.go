package column

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tiny returns a spill whose columns hold n samples in memory and that gathers no
// more than n at once.
func tiny(t testing.TB, n int) *Spill {
	s := NewSpill(t.TempDir())
	s.pageLen = n
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sampleGen draws samples of very different size, often equal or neighbours.
func sampleGen() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 2, math.Nextafter(2, 3), math.Nextafter(2, 1), 30, -1, 5e-324, math.MaxFloat64}),
		rapid.Float64Range(1, 2),
		rapid.Float64(),
	).Filter(func(v float64) bool { return !math.IsNaN(v) })
}

func TestRanksAreThoseOfTheSortedSamples(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spill := tiny(t, rapid.IntRange(1, 40).Draw(rt, "page"))
		var columns []*Column
		var all []float64
		for range rapid.IntRange(1, 3).Draw(rt, "columns") {
			c := New(spill)
			for range rapid.IntRange(0, 12).Draw(rt, "runs") {
				values := rapid.SliceOfN(sampleGen(), 0, 30).Draw(rt, "values")
				weight := rapid.Int64Range(1, 5).Draw(rt, "weight")
				if weight == 1 {
					for _, v := range values {
						must(rt, c.Add(v))
					}
				} else {
					must(rt, c.AddEqual(values, weight))
				}
				for _, v := range values {
					all = append(all, slices.Repeat([]float64{v}, int(weight))...)
				}
			}
			columns = append(columns, c)
		}
		if len(all) == 0 {
			return
		}
		slices.SortFunc(all, byKey)
		ranks := rapid.SliceOfN(rapid.Int64Range(0, int64(len(all)-1)), 1, 12).Draw(rt, "ranks")
		got, err := AtRanks(ranks, columns...)
		must(rt, err)
		for i, r := range ranks {
			if key(got[i]) != key(all[r]) {
				rt.Fatalf("rank %d of %d is %v, want %v", r, len(all), got[i], all[r])
			}
		}
	})
}

func byKey(a, b float64) int {
	switch {
	case key(a) < key(b):
		return -1
	case key(a) > key(b):
		return 1
	}
	return 0
}

func TestKeysKeepTheOrderOfFloats(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := sampleGen().Draw(rt, "a"), sampleGen().Draw(rt, "b")
		if a < b != (key(a) < key(b)) && a != b {
			rt.Fatalf("%v and %v", a, b)
		}
		if back := value(key(a)); math.Float64bits(back) != math.Float64bits(a) {
			rt.Fatalf("%v came back as %v", a, back)
		}
	})
}

func TestSamplesComeBackInOrder(t *testing.T) {
	c := New(tiny(t, 7))
	var want []float64
	for i := range 50 {
		want = append(want, float64(i*i%17))
		must(t, c.Add(want[i]))
	}
	for range 2 {
		var got []float64
		must(t, c.Values(func(values []float64, weight int64) {
			if weight != 1 {
				t.Errorf("weight %d", weight)
			}
			got = append(got, values...)
		}))
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if c.Len() != 50 || c.Min() != 0 || c.Max() != 16 {
		t.Errorf("%d samples from %v to %v", c.Len(), c.Min(), c.Max())
	}
}

func TestNoMoreThanOnePageStaysInMemory(t *testing.T) {
	spill := NewSpill(t.TempDir())
	defer spill.Close()
	c := New(spill)
	for i := range 3*PageLen + 5 {
		must(t, c.AddEqual([]float64{float64(i)}, int64(1+i%2)))
	}
	if len(c.values) != 5 || cap(c.values) > 2*PageLen || len(c.runs) != 5 {
		t.Errorf("%d samples and %d runs in memory", len(c.values), len(c.runs))
	}
	got, err := AtRanks([]int64{0, c.Len() - 1}, c)
	must(t, err)
	if got[0] != 0 || got[1] != 3*PageLen+4 {
		t.Errorf("from %v to %v", got[0], got[1])
	}
}

func TestTheFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	spill := NewSpill(dir)
	spill.pageLen = 2
	must(t, New(spill).AddEqual([]float64{1, 2, 3}, 1))
	if spill.file == nil {
		t.Fatal("nothing was spilled")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	must(t, spill.Close())
	must(t, spill.Close())
}

func TestLostSamplesAreAnErrorNotANumber(t *testing.T) {
	nowhere := NewSpill(filepath.Join(t.TempDir(), "missing"))
	nowhere.pageLen = 1
	if err := New(nowhere).Add(1); !errors.Is(err, ErrStorage) {
		t.Errorf("no file: %v", err)
	}
	spill := tiny(t, 1)
	c := New(spill)
	must(t, c.Add(1))
	must(t, c.Add(2))
	must(t, spill.file.Truncate(8))
	if _, err := AtRanks([]int64{1}, c); !errors.Is(err, ErrStorage) {
		t.Errorf("file cut: %v", err)
	}
	must(t, spill.file.Close())
	if err := c.Add(3); !errors.Is(err, ErrStorage) {
		t.Errorf("file closed: %v", err)
	}
	spill.file = nil
}

// TestRankRoundsHalfAwayFromZero is the rule of spec/replay.md 6.3 on 12 samples
// (V-85) and at a half.
func TestRankRoundsHalfAwayFromZero(t *testing.T) {
	for _, c := range []struct {
		n       int64
		percent float64
		want    int64
	}{
		{12, 50, 6}, {12, 75, 8}, {12, 90, 10}, {12, 95, 10}, {12, 99, 11}, {1, 99, 0}, {2, 50, 1}, {3, 50, 1}, {3, 75, 2},
	} {
		if got := Rank(c.n, c.percent); got != c.want {
			t.Errorf("p%v of %d: rank %d, want %d", c.percent, c.n, got, c.want)
		}
	}
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

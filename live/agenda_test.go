package live

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Things are done in order of time, equal ones in the order in which they were noted,
// each once, none early.
func TestTheAgendaKeepsTheOrder(t *testing.T) {
	type done struct {
		atMs  float64
		order int
	}
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var did, all []done
		now := 0.0
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "note") {
				d := done{now + rapid.Float64Range(0, 10).Draw(t, "in"), len(all)}
				all = append(all, d)
				a.add(d.atMs, func() { did = append(did, d) })
				continue
			}
			now += rapid.Float64Range(0, 5).Draw(t, "later")
			before := len(did)
			a.run(now)
			want := slices.DeleteFunc(slices.Clone(all), func(d done) bool { return d.atMs > now })
			if len(did) != len(want) || a.nextMs() <= now {
				t.Fatalf("at %v: %d done, want %d; next at %v", now, len(did), len(want), a.nextMs())
			}
			inOrder := func(x, y done) int { return cmp.Or(cmp.Compare(x.atMs, y.atMs), cmp.Compare(x.order, y.order)) }
			if !slices.IsSortedFunc(did[before:], inOrder) {
				t.Fatalf("at %v: done in the order %v", now, did[before:])
			}
		}
	})
}

func FuzzParseMetrics(f *testing.F) {
	f.Add([]byte("# TYPE a counter\na{x=\"1\"} 2\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3\nh_sum 1.5\nh_count 3\n"))
	f.Add([]byte("a 1\na 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		families, err := parseMetrics(text)
		if err != nil {
			return
		}
		for name, family := range families {
			for _, v := range valuesOf(family) {
				if len(v.name) < len(name) {
					t.Fatalf("value %q of %q", v.name, name)
				}
			}
		}
	})
}

func TestHistogramsAreWrittenAsCountAndSum(t *testing.T) {
	families, err := parseMetrics([]byte("# TYPE h histogram\nh_bucket{m=\"a\",le=\"1\"} 2\nh_bucket{m=\"a\",le=\"+Inf\"} 3\nh_sum{m=\"a\"} 1.5\nh_count{m=\"a\"} 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []value{{"h_count", `m="a"`, 3}, {"h_sum", `m="a"`, 1.5}}
	if got := valuesOf(families["h"]); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAPaceIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{"recorded", "none", "scaled:0.5", "fixed:100", "execute"} {
		if p, err := ParsePace(text); err != nil || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "fast", "scaled", "fixed:", "none:3", "scaled:x"} {
		if p, err := ParsePace(text); err == nil {
			t.Errorf("%q: %v, want an error", text, p)
		}
	}
}

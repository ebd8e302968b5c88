package routing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// The vectors of spec/buckets.md 5.1.
func TestKeysAndWeightsOfAffinity(t *testing.T) {
	keys := token.Blocks([]uint64{0, 1, 2, 3}, 512, 2048, 0).Keys(nil, 64)
	if keys[0] != 3127024960330812425 || keys[8] != 17685026471085887635 {
		t.Errorf("keys of blocks 0 and 8: %d, %d", keys[0], keys[8])
	}
	if got := prefixKey(keys[:1]); got != 8845110893420131436 {
		t.Errorf("key of the first block: %d", got)
	}
	prefix := prefixKey(keys[:8])
	if prefix != 17934405194926424894 {
		t.Errorf("key of the first 8 blocks: %d", prefix)
	}
	for i, want := range []uint64{1736069748007249376, 9031321966588189004, 8471700042147592815, 8432170024343799253} {
		if got := weight(prefix, i); got != want {
			t.Errorf("weight of instance %d: %d, want %d", i, got, want)
		}
	}
	if got := sessionKey("request_1"); got != 3737892425282972779 {
		t.Errorf("key of the session: %d", got)
	}
	var order rendezvous
	four := open(4)
	if got := order.of(four, prefix); !slices.Equal(got, []int32{1, 2, 3, 0}) {
		t.Errorf("ranking for the prefix: %v", got)
	}
	if got := order.of(four, sessionKey("request_1")); !slices.Equal(got, []int32{1, 0, 2, 3}) {
		t.Errorf("ranking for the session: %v", got)
	}
}

// A prefix of any length has a key: those that fit the buffer on the stack and those
// that do not.
func TestKeysOfLongPrefixesDiffer(t *testing.T) {
	keys := token.Stream(1, 40).Keys(nil, 1)
	seen := map[uint64]int{}
	for k := range 40 {
		key := prefixKey(keys[:k+1])
		if before, twice := seen[key]; twice {
			t.Errorf("the first %d and the first %d blocks have one key", before, k+1)
		}
		seen[key] = k + 1
	}
}

// The draws of spec/buckets.md 5.1: the numbers below 8, and the pairs of 5.
func TestDrawsAreThoseOfTheSeed(t *testing.T) {
	var got []int32
	random := &Random{arrival.NewRand(42, "local_router")}
	for range 8 {
		c, err := random.RouteInstance(&Request{}, open(8), 0)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Target)
	}
	if want := []int32{1, 3, 5, 2, 0, 2, 6, 1}; !slices.Equal(got, want) {
		t.Errorf("random: %v, want %v", got, want)
	}
	pairs := ""
	two := &PowerOfTwo{0.1, arrival.NewRand(42, "local_router")}
	for range 4 {
		d := &Decision{}
		if _, err := two.RouteInstance(&Request{Decision: d}, open(5), 0); err != nil {
			t.Fatal(err)
		}
		pairs += fmt.Sprint(d.Considered)
	}
	if want := "[0 2][1 3][0 2][0 3]"; pairs != want { // drawn as (0,2) (3,1) (0,2) (3,0)
		t.Errorf("power_of_two: %s, want %s", pairs, want)
	}
}

// Every bucket has a stream of its own, and all begin alike.
func TestBucketsDrawAlike(t *testing.T) {
	s := Defaults()
	s.Mode = "random"
	one, two := New(s, 7), New(s, 7)
	for row := range int32(50) {
		a, _, _ := one.Place(&Request{Row: row}, open(8), 0)
		b, _, _ := two.Place(&Request{Row: row}, open(8), 0)
		if a != b {
			t.Fatalf("request %d: %v and %v", row, a, b)
		}
	}
}

// idle is a view of n idle targets, of which nothing but loads may be looked at.
type idle struct {
	View
	n int
}

func open(n int) View { return idle{n: n} }

func (v idle) Len() int           { return v.n }
func (v idle) Draining(int) bool  { return false }
func (idle) Load(int) engine.Load { return engine.Load{BlocksTotal: 1} }

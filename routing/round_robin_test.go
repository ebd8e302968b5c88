package routing

import (
	"fmt"
	"testing"
)

// targets routes n requests and lists where they went.
func targets(t *testing.T, rr *RoundRobin, n int) (out []int32) {
	t.Helper()
	for range n {
		c, err := rr.RouteInstance(&Request{Rank: -1}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Target)
	}
	return out
}

func ready(rr *RoundRobin, id int32, targets ...int32) {
	rr.Worker(Change{State: Ready, Worker: id, Targets: targets})
}

func expect(t *testing.T, id string, got, want []int32) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", id, got, want)
	}
}

// The vectors of spec/replay.md 10.2.
func TestVectorsOfRoundRobin(t *testing.T) {
	rr := NewRoundRobin()
	for i := range int32(3) {
		ready(rr, i, 10+i)
	}
	expect(t, "V-19", targets(t, rr, 4), []int32{10, 11, 12, 10})
	rr.Worker(Change{State: Draining, Worker: 2})
	expect(t, "V-19 after a drain", targets(t, rr, 1), []int32{11})

	rr = NewRoundRobin()
	for i := range int32(3) {
		ready(rr, i+1, 10*(i+1), 10*(i+1)+1)
	}
	expect(t, "V-20", targets(t, rr, 4), []int32{10, 20, 30, 11})
	rr.Worker(Change{State: Draining, Worker: 3})
	expect(t, "V-20 drained", targets(t, rr, 1), []int32{21})
	rr.Worker(Change{State: Removed, Worker: 3})
	ready(rr, 3, 30, 31)
	expect(t, "V-20 back", targets(t, rr, 2), []int32{30, 10})
	ready(rr, 4, 40, 41)
	expect(t, "V-20 grown", targets(t, rr, 3), []int32{20, 31, 40})

	rr = NewRoundRobin()
	ready(rr, 1, 10, 11)
	ready(rr, 2, 20, 21)
	if _, err := rr.RouteInstance(&Request{Rank: 5}, nil, 0); err == nil {
		t.Error("V-21: a rank that does not exist must be refused")
	}
	expect(t, "V-21", targets(t, rr, 3), []int32{10, 20, 11})

	rr = NewRoundRobin()
	ready(rr, 1, 10, 11)
	ready(rr, 2, 20, 21)
	for i, want := range []int32{11, 21} {
		if c, err := rr.RouteInstance(&Request{Rank: 1}, nil, 0); err != nil || c.Target != want {
			t.Errorf("V-22: choice %d is %v (%v), want %d", i, c.Target, err, want)
		}
	}
	if _, err := rr.RouteInstance(&Request{Rank: 2}, nil, 0); err == nil {
		t.Error("V-22: rank 2 of two must be refused")
	}
}

func TestNoInstanceIsAnError(t *testing.T) {
	if _, err := NewRoundRobin().RouteInstance(&Request{Row: 7, Rank: -1}, nil, 0); err == nil {
		t.Error("a request was routed to nowhere")
	}
}

func ExampleRoundRobin() {
	rr := NewRoundRobin()
	rr.Worker(Change{State: Ready, Worker: 0, Targets: []int32{0}})
	rr.Worker(Change{State: Ready, Worker: 1, Targets: []int32{1}})
	for row := range int32(3) {
		c, _ := rr.RouteInstance(&Request{Row: row, Rank: -1}, nil, 0)
		fmt.Printf("request %d goes to target %d (%s)\n", row, c.Target, c.Reason)
	}
	// Output:
	// request 0 goes to target 0 (next_in_turn)
	// request 1 goes to target 1 (next_in_turn)
	// request 2 goes to target 0 (next_in_turn)
}

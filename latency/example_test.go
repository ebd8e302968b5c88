package latency_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/latency"
)

// price prints what a model charges for a pass.
func price(m latency.Model, p *latency.Pass) {
	d, err := m.Cost(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %v ms + %v ms\n", m.Name(), d.PrefillMs, d.DecodeMs)
}

// Settings as they stand in a file become a model, speed-ups and rounding included.
func ExampleNew() {
	s := latency.Defaults()
	s.DecodeSpeedup = 2
	m, err := latency.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := latency.Pass{DecodeSeqs: 8, DecodeNew: 8, DecodeContext: 524288, PoolTokens: 1048576}
	p.AddPrefill(512, 0)
	price(m, &p)
	if latency.Predicts(m) == "" {
		fmt.Println("not a hardware prediction")
	}
	// Output:
	// polynomial (speedup 1, decode speedup 2): 24.385704 ms + 13.155 ms
	// not a hardware prediction
}

func ExampleFixed() {
	p := latency.Pass{DecodeSeqs: 5, DecodeNew: 5, DecodeContext: 4000}
	price(latency.Fixed{PrefillMs: 7, DecodeMs: 3}, &p)
	p.AddPrefill(64, 0)
	price(latency.Fixed{PrefillMs: 7, DecodeMs: 3}, &p)
	// Output:
	// fixed prefill 7 ms, decode 3 ms: 0 ms + 3 ms
	// fixed prefill 7 ms, decode 3 ms: 7 ms + 3 ms
}

// Before rounding, a price has the last bits that the formula gives it.
func ExamplePolynomial() {
	var p latency.Pass
	p.AddPrefill(8, 0)
	price(latency.Polynomial{}, &p)
	rounded, _ := latency.Scale(latency.Polynomial{}, 1, 1)
	price(rounded, &p)
	// Output:
	// polynomial: 16.6229144639296 ms + 0 ms
	// polynomial (speedup 1): 16.622913999999998 ms + 0 ms
}

package metrics

import (
	"fmt"
	"math"
	"testing"

	"github.com/reprise-sim/reprise/setting"
)

func TestAnSLAHasBoundsThatCanBeKept(t *testing.T) {
	for _, c := range []struct {
		sla  SLA
		want []string // fields found wrong
	}{
		{*bounds(100, 0, 0), nil},
		{*bounds(100, 20, 0), nil},
		{*bounds(0, 0, 1), nil},
		{SLA{}, []string{"sla"}},
		{*bounds(100, 0, 50), []string{"e2e_ms"}},
		{*bounds(-1, math.NaN(), 0), []string{"ttft_ms", "itl_ms"}},
		{*bounds(math.Inf(1), 0, 0), []string{"ttft_ms"}},
	} {
		var got []string
		for _, e := range setting.All(c.sla.Validate()) {
			got = append(got, e.Field)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.sla, got, c.want)
		}
	}
}

func ExampleSLA_Good() {
	ttft, itl := 150.0, 30.0
	sla := SLA{TTFTMs: &ttft, ITLMs: &itl}
	var l Ledger
	var g Gaps
	for _, tokens := range [][]float64{{100, 150, 200}, {100, 120, 140}, {100}, {160}} {
		r := l.Row(l.Open(Label{}, 0, 10, 3))
		r.EndAt(Completed, "", tokens[len(tokens)-1], tokens, &g, false)
		fmt.Println(tokens, sla.Good(r))
	}
	// Output:
	// [100 150 200] false
	// [100 120 140] true
	// [100] true
	// [160] false
}

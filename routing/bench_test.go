package routing_test

import (
	"fmt"
	"testing"

	"github.com/reprise-sim/reprise/routing"
)

// What a decision costs beside what the view costs, by policy and instances.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		for _, p := range routing.Policies() {
			b.Run(fmt.Sprintf("%s/%d", p.Mode, n), func(b *testing.B) {
				v, r := crowd(n)
				s := routing.Defaults()
				s.Mode = p.Mode
				router := routing.New(s, 42)
				announce(router, v)
				for b.Loop() {
					v.Asked = v.Asked[:0]
					if _, _, err := router.Place(&r, v, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// What a line of the routing log costs: noting 16 instances, and writing them.
func BenchmarkLine(b *testing.B) {
	v, r := crowd(16)
	router := routing.CacheScore{LoadAlpha: 0.1, Alpha: 1, Beta: 0.1}
	var d routing.Decision
	var text []byte
	r.Decision = &d
	for b.Loop() {
		d.Reset()
		d.SeeInstances(v, 0.1)
		c, err := router.RouteInstance(&r, v, 0)
		if err != nil {
			b.Fatal(err)
		}
		d.ChooseInstance(c, 0)
		text = d.AppendJSON(text[:0])
	}
}

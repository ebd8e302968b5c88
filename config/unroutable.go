package config

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/trace"
)

// misfit is a request whose length is in no bucket's range.
type misfit struct{ line, tokens int32 }

// named is how many requests a refusal names.
const named = 3

// checkRoutable refuses a trace with requests that fit no bucket (spec/buckets.md 2,
// rule 9). With limits.requests, only those count that can be sent.
func (s *Simulation) checkRoutable() error {
	gaps := gapsBetween(s.ranges)
	if len(gaps) == 0 {
		return nil
	}
	most := math.MaxInt
	if n := s.config.Limits.Requests; n != nil && s.trace.Report().Independent {
		most = *n
	}
	found, first, err := misfits(s.trace, gaps, most)
	if err != nil || found == 0 {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "trace: %s no bucket:", fits(found))
	for _, m := range first {
		fmt.Fprintf(&b, " line %d has %d input tokens, in the uncovered %s;", m.line, m.tokens, describe(gaps, m.tokens, s.ranges))
	}
	if more := found - len(first); more > 0 {
		fmt.Fprintf(&b, " and %d more;", more)
	}
	fmt.Fprintf(&b, " %s takes none of them: cover the range, choose another global_router.mode, or say --on-unroutable reject", s.config.Cluster.GlobalRouter.Mode)
	return fmt.Errorf("%s", b.String())
}

func fits(n int) string {
	if n == 1 {
		return "1 request fits"
	}
	return fmt.Sprintf("%d requests fit", n)
}

// gapsBetween are the lengths that no range holds, in order; ranges stand in order.
func gapsBetween(ranges []routing.Bucket) []routing.Bucket {
	var gaps []routing.Bucket
	next := int32(0)
	for _, b := range ranges {
		if b.Min > next {
			gaps = append(gaps, routing.Bucket{Min: next, Max: b.Min - 1})
		}
		if b.Max == routing.Unlimited {
			return gaps
		}
		next = b.Max + 1
	}
	return append(gaps, routing.Bucket{Min: next, Max: routing.Unlimited})
}

// describe is the gap that a length falls in, as messages have it.
func describe(gaps []routing.Bucket, tokens int32, ranges []routing.Bucket) string {
	i := slices.IndexFunc(gaps, func(g routing.Bucket) bool { return g.Holds(tokens) })
	text := "range " + cluster.Range(gaps[i].Min, gaps[i].Max)
	if gaps[i].Max == routing.Unlimited {
		text += fmt.Sprintf(" (the largest input_length_max is %d)", ranges[len(ranges)-1].Max)
	}
	return text
}

// misfits counts the requests of a trace, of its first most ones, whose length is
// in a gap, and lists those that stand first in the file.
func misfits(t trace.Trace, gaps []routing.Bucket, most int) (found int, first []misfit, err error) {
	tasks, err := t.Tasks()
	if err != nil {
		return 0, nil, err
	}
	defer tasks.Close()
	for calls := 0; calls < most; {
		task, err := tasks.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, nil, err
		}
		for i := range task.Nodes {
			n := &task.Nodes[i]
			if n.Kind != trace.LLM {
				continue
			}
			calls++
			if slices.ContainsFunc(gaps, func(g routing.Bucket) bool { return g.Holds(n.InputTokens) }) {
				found++
				first = keepFirst(first, misfit{n.Line, n.InputTokens})
			}
		}
	}
	return found, first, nil
}

// keepFirst adds a misfit to those that stand first.
func keepFirst(first []misfit, m misfit) []misfit {
	at, _ := slices.BinarySearchFunc(first, m, func(a, b misfit) int { return cmp.Compare(a.line, b.line) })
	first = slices.Insert(first, at, m)
	return first[:min(len(first), named)]
}

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
type misfit struct {
	id           string
	line, tokens int32
}

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
	return &unroutable{
		files: s.config.Trace.Path, mode: s.config.Cluster.GlobalRouter.Mode,
		found: found, first: first, gaps: gaps, top: s.ranges[len(s.ranges)-1].Max,
	}
}

// unroutable refuses a trace for its requests that fit no bucket.
type unroutable struct {
	files []string // of the trace
	mode  string   // of the global router
	found int
	first []misfit
	gaps  []routing.Bucket
	top   int32 // largest input length that a bucket takes
}

func (u *unroutable) Error() string {
	var b strings.Builder
	fits := "requests fit"
	if u.found == 1 {
		fits = "request fits"
	}
	fmt.Fprintf(&b, "%s: %d %s no bucket:", strings.Join(u.files, ", "), u.found, fits)
	for _, m := range u.first {
		place := fmt.Sprintf("line %d", m.line)
		if len(u.files) > 1 { // of which file, the name tells
			place = fmt.Sprintf("request %s, line %d", m.id, m.line)
		}
		fmt.Fprintf(&b, "\n  %s: %d input tokens, in the uncovered range %s", place, m.tokens, u.gap(m.tokens))
	}
	if more := u.found - len(u.first); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	fmt.Fprintf(&b, "\n%s needs a bucket for every length: cover the range, choose another\ncluster.global_router.mode (bucket_score takes any length), or say --on-unroutable reject", u.mode)
	return b.String()
}

// gap is the gap that a length falls in, as people write it.
func (u *unroutable) gap(tokens int32) string {
	i := slices.IndexFunc(u.gaps, func(g routing.Bucket) bool { return g.Holds(tokens) })
	g := &u.gaps[i]
	text := cluster.Range(g.Min, g.Max)
	if g.Max == routing.Unlimited {
		text += fmt.Sprintf(" (the largest input_length_max is %d)", u.top)
	}
	return text
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
				first = keepFirst(first, misfit{n.ID, n.Line, n.InputTokens})
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

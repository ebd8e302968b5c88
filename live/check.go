package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/trace"
)

// findings are what a trace was found to ask for before anything was sent.
type findings struct {
	refused map[string]*force.Refusal // by invocation
	first   []error
	unknown map[string]bool // sampling parameters that Reprise does not know
	largest int64           // id of a token
}

// check looks at every call of a trace.
func check(ctx context.Context, t trace.Trace, m force.Mode, l force.Limits) (*findings, error) {
	f := &findings{refused: map[string]*force.Refusal{}, unknown: map[string]bool{}, largest: -1}
	err := eachTask(t, func(task *trace.Task) error {
		for i := range task.Nodes {
			if n := &task.Nodes[i]; n.Kind == trace.LLM {
				f.call(m, n, l)
			}
		}
		return ctx.Err()
	})
	return f, err
}

func (f *findings) call(m force.Mode, n *trace.Node, l force.Limits) {
	f.largest = max(f.largest, force.Largest(n))
	if s, err := force.SamplingOf(n, l); err == nil {
		for _, name := range s.Unknown() {
			f.unknown[name] = true
		}
	}
	var r *force.Refusal
	if errors.As(force.Refuse(m, n, l), &r) {
		f.refused[n.ID] = r
		if len(f.first) < mostNamed {
			f.first = append(f.first, r)
		}
	}
}

// err is the refusal of the whole trace.
func (f *findings) err() error {
	more := ""
	if n := len(f.refused) - len(f.first); n > 0 {
		more = fmt.Sprintf("\n… and %d more", n)
	}
	return fmt.Errorf("%s cannot be sent as recorded (--on-refused reject sends the others):\n%w%s", calls(len(f.refused)), errors.Join(f.first...), more)
}

// calls is so many calls.
func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// notes are remarks on the calls.
func (f *findings) notes() (notes []string) {
	if len(f.unknown) > 0 {
		notes = append(notes, "sampling parameters that are not known and not sent: "+strings.Join(slices.Sorted(maps.Keys(f.unknown)), ", "))
	}
	if n := len(f.refused); n > 0 {
		notes = append(notes, fmt.Sprintf("%s cannot be sent as recorded: rejected, the first: %v", calls(n), f.first[0]))
	}
	return notes
}

// limits are what all servers can do.
func (s *Settings) limits(servers []*probe.Capabilities) force.Limits {
	l := force.Limits{Vocabulary: s.Vocabulary, IgnoreGrammar: s.IgnoreGrammar}
	for _, c := range servers {
		l.MaxModelLen = least(l.MaxModelLen, c.MaxModelLen)
		l.Vocabulary = least(l.Vocabulary, c.Vocabulary)
	}
	return l
}

// least is the smaller of two limits, 0 being none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

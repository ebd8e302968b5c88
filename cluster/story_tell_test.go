package cluster

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
)

// picture is what a look at the instance shows.
func (s *story) picture(ms float64, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	in := s.instances[0]
	l := in.Load(ms)
	return fmt.Sprintf("at %v: %d running, %d waiting; passes: %d decided, %d complete\n%s%s",
		ms, l.Running, l.Waiting, in.decided, in.complete, s.ended(), s.next())
}

// ended tells who has ended on the instance.
func (s *story) ended() string {
	var b strings.Builder
	for _, in := range s.instances {
		in.Ended(func(e Ended) { b.WriteString(s.end(e)) })
	}
	return b.String()
}

func (s *story) end(e Ended) string {
	reason := ""
	if why := s.ledger.Row(e.Row).Reason; why != "" {
		reason = ", " + why
	}
	return fmt.Sprintf("%s: %s at %v, tokens: %d%s\n", s.names[e.Row], e.Status, e.AtMs, e.OutputTokens, reason)
}

// next is when somebody has to look again.
func (s *story) next() string {
	what, next := "looked at", s.instances[0].NextMs()
	if s.cluster != nil {
		what, next = "to be settled", s.cluster.NextMs()
	}
	if math.IsInf(next, 1) {
		return what + " next: never"
	}
	return fmt.Sprintf("%s next: %v", what, next)
}

func (s *story) told(*testing.T, *datadriven.TestData) string {
	words := map[engine.Kind]string{engine.Admitted: "admitted", engine.First: "first token", engine.Finished: "end"}
	var heard []string
	for _, n := range s.placement.(*gossip).heard {
		heard = append(heard, fmt.Sprintf("at %v: %s %s", n.atMs, s.names[n.Row], words[n.Kind]))
	}
	return strings.Join(heard, "\n")
}

func (s *story) rows(*testing.T, *datadriven.TestData) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "request\tstatus\tinstance\tsubmit\tadmit\tfirst\tsecond\tlast\tend\ttokens\treason")
	for i, name := range s.names {
		r := s.ledger.Row(int32(i))
		fmt.Fprintf(w, "%s\t%s\t%s", name, r.Status, orDash(float64(r.Instance)))
		for _, ms := range []float64{r.SubmitMs, r.AdmitMs, r.FirstMs, r.SecondMs, r.LastMs, r.EndMs} {
			fmt.Fprintf(w, "\t%s", orDash(ms))
		}
		reason := "-"
		if r.Reason != "" {
			reason = r.Reason
		}
		fmt.Fprintf(w, "\t%d of %d\t%s\n", r.OutputTokens, r.RequestedTokens, reason)
	}
	w.Flush()
	return b.String()
}

func orDash(v float64) string {
	if math.IsNaN(v) || v < 0 {
		return "-"
	}
	return fmt.Sprint(v)
}

package graph

import (
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// anyJournal draws calls and marks that overlap, name each other, and go on from each
// other's tokens, rightly or not.
func anyJournal(t *rapid.T) *journal.Journal {
	name := rapid.SampledFrom([]string{"", "a", "b", "c", "a/0"})
	names := rapid.SliceOfN(name, 0, 2)
	ms := func() float64 { return float64(rapid.IntRange(0, 20).Draw(t, "ms")) }
	digest := rapid.Uint64Range(0, 4)
	j := &journal.Journal{}
	calls := rapid.Int64Range(0, 8).Draw(t, "calls")
	for seq := int64(1); seq <= calls; seq++ {
		start := ms()
		c := &journal.Call{
			Seq: seq, API: "chat", StartMs: start, EndMs: start + ms(), Outcome: rapid.SampledFrom([]string{journal.Done, journal.Done, journal.Cancelled, journal.Failed}).Draw(t, "outcome"),
			Who:   journal.Who{Task: name.Draw(t, "task"), Session: name.Draw(t, "session"), Parent: name.Draw(t, "parent"), Call: name.Draw(t, "call"), After: names.Draw(t, "after")},
			Body:  digest.Draw(t, "body"),
			Input: rapid.Int32Range(-1, 9).Draw(t, "input"), Output: rapid.Int32Range(-1, 3).Draw(t, "output"),
			Talk: &journal.Talk{
				Chain: rapid.SliceOfN(digest, 0, 3).Draw(t, "chain"), Roles: "uat", Next: digest.Draw(t, "next"), Answers: names.Draw(t, "answers"),
				Tools: []journal.ToolCall{{ID: name.Draw(t, "tool"), Name: "f"}}, Base: seq - rapid.Int64Range(0, 2).Draw(t, "base"), Keep: rapid.IntRange(0, 2).Draw(t, "keep"),
			},
		}
		if rapid.Bool().Draw(t, "ids") {
			c.IDs = &journal.IDs{
				InputFrom: journal.FromServer, OutputFrom: rapid.SampledFrom([]string{"", journal.FromServer}).Draw(t, "from"), Base: rapid.Int64Range(0, seq).Draw(t, "on"),
				Keep: rapid.Int32Range(0, 5).Draw(t, "kept"), Own: journal.Pack([]uint32{1, 2, 3}), Output: journal.Pack([]uint32{4}),
			}
		}
		j.Entries = append(j.Entries, journal.Entry{Call: c})
	}
	for range rapid.IntRange(0, 6).Draw(t, "marks") {
		j.Entries = append(j.Entries, journal.Entry{Mark: &journal.Mark{
			Kind: rapid.SampledFrom([]string{journal.Invocation, journal.ToolStart, journal.ToolEnd, journal.Spawn, journal.Join}).Draw(t, "mark"),
			Ms:   ms(), Task: name.Draw(t, "task"), Session: name.Draw(t, "session"), Parent: name.Draw(t, "parent"),
			Call: name.Draw(t, "call"), Tool: name.Draw(t, "tool"), After: names.Draw(t, "after"), Of: names.Draw(t, "of"),
		}})
	}
	return j
}

// Whatever a journal says, its tasks are a trace: unique names, nothing waits for what
// comes after it or starts before it was recorded to, and every call is somewhere.
func TestEveryJournalMakesATrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Build(anyJournal(t))
		w, err := trace.NewWriter(io.Discard, trace.Header{})
		if err != nil {
			t.Fatal(err)
		}
		seen, calls := map[string]bool{}, 0
		for _, task := range r.Tasks {
			if err := w.Write(task); err != nil {
				t.Fatal(err)
			}
			calls += task.Calls()
			for i := range task.Nodes {
				n := &task.Nodes[i]
				if seen[n.ID] {
					t.Fatalf("%q twice", n.ID)
				}
				seen[n.ID] = true
				for _, e := range n.After {
					if from := task.Nodes[e.From].Details.Recorded; e.Trigger == trace.Completion && from.EndMs+e.DelayMs > n.Details.Recorded.StartMs+1e-6 {
						t.Fatalf("%s would start at %v, started at %v", n.ID, from.EndMs+e.DelayMs, n.Details.Recorded.StartMs)
					}
				}
			}
		}
		for _, c := range r.Calls {
			if c.LeftOut == "" {
				calls--
			} else if c.Node != "" {
				t.Fatal(fmt.Sprint("left out and in the trace: ", c.Node))
			}
		}
		if calls != 0 {
			t.Fatalf("%d calls too many", calls)
		}
	})
}

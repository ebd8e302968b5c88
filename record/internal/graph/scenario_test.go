package graph_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/record/internal/graph"
	"github.com/reprise-sim/reprise/record/internal/graph/graphtest"
	"github.com/reprise-sim/reprise/record/internal/journal"
)

// journalOf tells the tasks of a journal, whose lines stand in the story.
func journalOf(_ struct{}, t *testing.T, td *datadriven.TestData) string {
	j, err := journal.Read(strings.NewReader(`{"start":{"schema":"reprise.journal","version":1}}` + "\n" + td.Input))
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	if j.Torn > 0 && !td.HasArg("torn") {
		td.Fatalf(t, "%d lines are no entries", j.Torn)
	}
	return graphtest.Tell(graph.Build(j), false)
}

func TestJournals(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", scenario.Language[struct{}]{"journal": journalOf}, func() struct{} { return struct{}{} })
}

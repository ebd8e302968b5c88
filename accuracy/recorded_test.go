package accuracy

import (
	"math"
	"strings"
	"testing"
)

// A run that LLMServingSim recorded on an RTX 4090, simulated with the tables that were
// measured on that GPU: 2 % of the means, 5 % in the tails (spec/latency.md 3.4).
func TestARecordedRunComesOutOfItsOwnTables(t *testing.T) {
	outcomes, err := Recorded("testdata/rtx4090-llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 15 {
		t.Fatalf("%d figures", len(outcomes))
	}
	for _, o := range outcomes {
		bound := 0.05
		if o.Value.Stat == "mean" {
			bound = 0.02
		}
		if !(math.Abs(o.Error()) < bound) {
			t.Errorf("%s: %v ms, measured %v", o.Value.Name(), o.Predicted, o.Value.Value)
		}
	}
}

func TestRecordedRunsThatAreBrokenAreRefused(t *testing.T) {
	if _, err := Recorded("testdata"); err == nil || !strings.Contains(err.Error(), "run.json") {
		t.Errorf("a folder without a run: %v", err)
	}
}

package config_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
)

// row is a request of a Mooncake trace.
type row struct {
	id      string
	session string // "": none
	atMs    float64
	in, out int
	content []int // numbers of its prompt's tokens
}

// with is the row with a prompt of its length: it begins as the content says and
// goes on like no other.
func (r row) with(number int) row {
	for len(r.content) < r.in {
		r.content = append(r.content, number*1_000_000+len(r.content))
	}
	r.content = r.content[:r.in]
	return r
}

// writeRows writes rows to a file, an id for each size tokens, which is the number
// of the last of them.
func writeRows(t testing.TB, dir, name string, rows []row, size int) (path string) {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		ids := []int{}
		for i := 0; i < r.in; i += size {
			ids = append(ids, r.content[min(i+size, r.in)-1])
		}
		said := map[string]any{"request_id": r.id, "timestamp": r.atMs, "input_length": r.in, "output_length": r.out, "hash_ids": ids}
		if r.session != "" {
			said["session_id"] = r.session
		}
		line, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return write(t, dir, name, b.String())
}

// records are the lines of a run's per_request.csv.
func records(t testing.TB, run *rundir.Run) []rundir.Record {
	t.Helper()
	in, err := run.Requests()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var all []rundir.Record
	for {
		var r rundir.Record
		switch err := in.Next(&r); err {
		case nil:
			all = append(all, r)
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

// decisions are the lines of a run's routing_log.jsonl.
func decisions(t testing.TB, run *rundir.Run) []routing.Decision {
	t.Helper()
	f, err := os.Open(filepath.Join(run.Dir, rundir.RoutingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []routing.Decision
	for lines := json.NewDecoder(bufio.NewReader(f)); lines.More(); {
		var d routing.Decision
		if err := lines.Decode(&d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// tellRequests tells what became of each request.
func tellRequests(t *testing.T, run *rundir.Run) string {
	var b strings.Builder
	for _, r := range records(t, run) {
		fmt.Fprintf(&b, "%s: ", r.Request)
		if r.BucketName != "" {
			fmt.Fprintf(&b, "%s/%d, %s; ", r.BucketName, r.Instance, homes[r.Tiers.LengthMatch])
		}
		if r.Status != metrics.Completed {
			fmt.Fprintf(&b, "%v, %s\n", r.Status, r.Reason)
			continue
		}
		fmt.Fprintf(&b, "blocks:%s; ", tellTiers(&r.Tiers))
		if r.SubmitMs > r.ArrivalMs {
			fmt.Fprintf(&b, "submitted %v, ", r.SubmitMs)
		}
		fmt.Fprintf(&b, "admitted %v, ", r.AdmitMs)
		if r.Tiers.LoadWaitMs > 0 {
			fmt.Fprintf(&b, "loaded for %v, ", r.Tiers.LoadWaitMs)
		}
		fmt.Fprintf(&b, "tokens at %v", r.FirstMs)
		if r.OutputTokens > 1 {
			fmt.Fprintf(&b, " to %v", r.LastMs)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

var homes = map[metrics.Match]string{metrics.NoHome: "no home", metrics.Matched: "home", metrics.Strayed: "away"}

// tellTiers tells where the full blocks of a prompt came from.
func tellTiers(tiers *metrics.Tiers) string {
	text := ""
	for _, part := range []struct {
		blocks int32
		tier   string
	}{{tiers.L0, "L0"}, {tiers.L1, "L1"}, {tiers.Remote, "remote"}, {tiers.RemoteStale, "stale"}, {tiers.Miss, "computed"}} {
		if part.blocks > 0 {
			text += fmt.Sprintf(" %d %s", part.blocks, part.tier)
		}
	}
	return text
}

func (s *serviceStory) decision(t *testing.T, td *datadriven.TestData) string {
	for _, d := range decisions(t, s.run) {
		if d.RequestID == td.CmdArgs[0].Key {
			return tellDecision(&d)
		}
	}
	td.Fatalf(t, "no decision")
	return ""
}

// tellDecision tells what was weighed; what was chosen stands behind an arrow.
func tellDecision(d *routing.Decision) string {
	var b strings.Builder
	arrow := func(id int32, chosen *int32) string {
		if chosen != nil && *chosen == id {
			return "→"
		}
		return " "
	}
	score := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf(", score %v", *v)
	}
	fmt.Fprintf(&b, "%s: %s\n", d.GlobalMode, d.GlobalReason)
	for _, c := range d.Buckets {
		fmt.Fprintf(&b, "%s %s: penalty %v, load %v, miss %v, prefix %d%s\n",
			arrow(c.ID, d.ChosenBucket), c.Name, c.LengthPenalty, c.Load, c.Miss, c.PredictedPrefix, score(c.Score))
	}
	if d.LocalReason == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s", d.LocalMode, *d.LocalReason)
	if d.ProbeMs > 0 {
		fmt.Fprintf(&b, ", probed for %v", d.ProbeMs)
	}
	fmt.Fprintf(&b, ", regret %d of %d\n", *d.Regret, d.BestAvailable)
	for _, c := range d.Instances {
		fmt.Fprintf(&b, "%s %d: queue %d, running %d, prefix %d%s", arrow(c.ID, d.ChosenInstance), c.ID, c.Queue, c.Running, c.Prefix, score(c.Score))
		if c.Probed != nil {
			fmt.Fprintf(&b, ", probed %d", *c.Probed)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func (s *serviceStory) totals(*testing.T, *datadriven.TestData) string {
	sum := &s.run.Summary
	text := fmt.Sprintf("offered %d: completed %d, rejected %d", sum.Accounting.Offered, sum.Accounting.Completed, sum.Accounting.Rejected)
	if n := sum.Accounting.Reasons["rejected"][metrics.NoBucket]; n > 0 {
		text += fmt.Sprintf(" (%d of them without a bucket)", n)
	}
	return fmt.Sprintf("%s\n%d input and %d output tokens, the last at %v\n", text, sum.InputTokens, sum.OutputTokens, sum.DurationMs)
}

// tellBuckets tells how many requests each bucket had.
func tellBuckets(run *rundir.Run) string {
	var b strings.Builder
	for i := range run.Summary.PerBucket {
		p := &run.Summary.PerBucket[i]
		fmt.Fprintf(&b, "%s: %d requests\n", p.Name, p.Requests)
	}
	return b.String()
}

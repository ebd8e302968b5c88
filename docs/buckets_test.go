package docs_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
)

// Figures in a table of buckets.md are among those that the commands on the page
// print.
func TestFiguresOfTheStudyArePrinted(t *testing.T) {
	text := page(t, "buckets.md")
	var printed strings.Builder
	for _, part := range strings.Split(text, "\n```text\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		printed.WriteString(" " + strings.ReplaceAll(block, "\n", " ") + " ")
	}
	seen := 0
	for _, row := range regexp.MustCompile(`(?m)^\| .*and.*\|$`).FindAllString(text, -1) {
		for _, figure := range regexp.MustCompile(`[0-9.]{3,}`).FindAllString(row, -1) {
			if seen++; !strings.Contains(printed.String(), " "+figure+" ") {
				t.Errorf("no command prints %s: %s", figure, row)
			}
		}
	}
	if seen < 8 {
		t.Errorf("%d figures", seen)
	}
}

func TestEveryKeyOfTheRoutingLogIsExplained(t *testing.T) {
	_, text, ok := strings.Cut(page(t, "outputs.md"), "\n## routing_log.jsonl\n")
	if !ok {
		t.Fatal("outputs.md has no section on routing_log.jsonl")
	}
	for _, line := range []any{routing.Decision{}, routing.BucketCandidate{}, routing.InstanceCandidate{}} {
		for field := range reflect.TypeOf(line).Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(text, "`"+key+"`") {
				t.Errorf("outputs.md does not explain %s of the routing log", key)
			}
		}
	}
}

// Every key of a bucket and of an instance stands in the page, but for those of
// distributions.
func TestEveryFigureOfAPartIsExplained(t *testing.T) {
	_, text, ok := strings.Cut(page(t, "outputs.md"), "\nA list `per_bucket`")
	if !ok {
		t.Fatal("outputs.md has no list of per_bucket")
	}
	var summary struct {
		PerBucket   []map[string]json.RawMessage `json:"per_bucket"`
		PerInstance []map[string]json.RawMessage `json:"per_instance"`
	}
	if err := json.Unmarshal([]byte(page(t, filepath.Join(example(t), rundir.SummaryFile))), &summary); err != nil {
		t.Fatal(err)
	}
	distribution := regexp.MustCompile(`^(num|mean|min|max|median|p75|p90|p95|p99|std)_`)
	for _, part := range append(summary.PerBucket[:1], summary.PerInstance[0]) {
		for key := range part {
			if !distribution.MatchString(key) && !strings.Contains(text, "`"+key+"`") {
				t.Errorf("outputs.md does not explain %s", key)
			}
		}
	}
}

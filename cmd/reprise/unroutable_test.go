package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One request that fits no bucket, near the end of a long trace, is found before
// anything is simulated or written: 100,000 rows in less than two seconds.
func TestALongTraceIsRefusedAtOnceForOneRequest(t *testing.T) {
	var rows bytes.Buffer
	for i := range 100_000 {
		length, last := 1025+i%512, ""
		if i == 99_990 {
			length, last = 1537, ",0"
		}
		fmt.Fprintf(&rows, `{"timestamp":%d,"input_length":%d,"output_length":100,"hash_ids":[0,%d,%d%s]}`+"\n", i, length, 2*i+1, 2*i+2, last)
	}
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "long.jsonl"), filepath.Join(dir, "run")
	if err := os.WriteFile(trace, rows.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	began := time.Now()
	code := run([]string{"simulate", "--trace", trace, "--out", out, "--set", "cluster.buckets=[{name: short, input_length_max: 1536, num_instances: 1}]"},
		nil, &stdout, &stderr)
	took := time.Since(began)
	if want := "1 request fits no bucket:\n  line 99991: 1537 input tokens, in the uncovered range 1537.. (the largest input_length_max is 1536)"; code != refused || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, want %d; %s\nwant %s", code, refused, stderr.String(), want)
	}
	if _, err := os.Stat(out); err == nil || stdout.Len() > 0 {
		t.Errorf("something was written: %v, %s", err, stdout.String())
	}
	if took > 2*time.Second && !raceDetector() {
		t.Errorf("it took %v", took)
	}
	t.Log("refused after", took)
}

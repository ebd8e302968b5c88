package explain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/routing"
)

func TestADecisionIsFoundByItsName(t *testing.T) {
	log := `{"request_id":"line:1","session_id":"line:10","time_ms":1}

{"request_id":"line:10","time_ms":10}
{"request_id":"a \"b\" <c>","time_ms":11}
{ "time_ms": 12, "request_id": "spaced" }`
	for request, ms := range map[string]float64{"line:1": 1, "line:10": 10, `a "b" <c>`: 11, "spaced": 12} {
		var d routing.Decision
		line, err := search(strings.NewReader(log), request, &d)
		if err != nil || d.TimeMs != ms || !strings.Contains(log, string(line)) {
			t.Errorf("%s: %s, %+v, %v", request, line, d, err)
		}
	}
	for request, want := range map[string]string{
		"line:11": `no request "line:11": did you mean line:1, line:10, spaced?`,
		"line":    `no request "line": did you mean line:1, line:10, spaced?`,
	} {
		if _, err := search(strings.NewReader(log), request, &routing.Decision{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := search(strings.NewReader("\n"), "x", &routing.Decision{}); err == nil || err.Error() != `no request "x": no request was routed` {
		t.Error(err)
	}
	if _, err := search(strings.NewReader("{}\n{\"request_id\":3}\n"), "x", &routing.Decision{}); err == nil || !strings.HasPrefix(err.Error(), "2: ") {
		t.Error(err)
	}
}

// Whatever a log holds, it is told without an accident or refused with a line.
func FuzzLogs(f *testing.F) {
	f.Add(`{"request_id":"a","chosen_bucket":0,"chosen_bucket_name":"b","chosen_instance":1,"local_reason":"lowest_score",`+
		`"bucket_candidates":[{"bucket_id":0,"score":1},{"bucket_id":1}],"instance_candidates":[{"id":1,"score":0.5},{"id":2,"probed":3}],"regret_blocks":2}`, "a")
	f.Add("{}\n\n[1]", "a")
	f.Add(`{"request_id":"","chosen_bucket":7,"global_reason":"lowest_load","local_mode":"x"}`, "")
	f.Fuzz(func(t *testing.T, log, request string) {
		s := &Story{}
		line, err := search(strings.NewReader(log), request, &s.Decision)
		var none *notFound
		switch {
		case errors.As(err, &none):
			return
		case err != nil:
			if err.Error()[0] < '1' || err.Error()[0] > '9' {
				t.Fatalf("no line: %v", err)
			}
			return
		}
		if s.Decision.RequestID != request || !json.Valid(line) {
			t.Fatalf("%q is not about %q", line, request)
		}
		s.line = line
		var text strings.Builder
		if err := s.WriteText(&text); err != nil || text.Len() == 0 {
			t.Fatal(err)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
	})
}

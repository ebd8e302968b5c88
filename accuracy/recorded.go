package accuracy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	_ "github.com/reprise-sim/reprise/latency/predict" // the models that a run may name
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/workload"
)

// recording is run.json of a recorded run: how the server was set and what prices its
// simulation.
type recording struct {
	Name    string           `json:"name"`
	Engine  engine.Settings  `json:"engine"`
	Latency latency.Settings `json:"latency"`
}

// Recorded runs a recorded serving run again and compares: a folder with run.json,
// workload.jsonl (the requests, in Mooncake's format), requests.jsonl (when each was
// sent, got its first and its last token) and the tables that run.json names.
func Recorded(folder string) ([]Outcome, error) {
	r := recording{Engine: engine.Defaults(), Latency: latency.Defaults()}
	text, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if r.Latency.Path != "" {
		r.Latency.Path = filepath.Join(folder, r.Latency.Path)
	}
	measured, err := readRequests(filepath.Join(folder, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	m, err := latency.NewFor(r.Latency, latency.Deployment{Backend: r.Engine.Backend, TensorParallel: r.Engine.TensorParallelSize, DataParallel: r.Engine.DPSize})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	t, err := formats.Open([]string{filepath.Join(folder, "workload.jsonl")}, formats.Options{BlockSize: r.Engine.BlockSize})
	if err != nil {
		return nil, err
	}
	if err := engine.Resolve(&r.Engine); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	served, err := serve(t, workload.Defaults(), r.Engine, m, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return compare(&Case{Source: r.Name, Hardware: r.Latency.GPU, Model: r.Latency.ModelName, Engine: r.Engine.Backend, Trust: "A"}, measured, served), nil
}

// compare compares the figures of two runs of the same requests.
func compare(c *Case, measured, predicted *Served) []Outcome {
	want, got := summary(measured), summary(predicted)
	var list []Outcome
	for _, metric := range []string{"ttft", "tpot", "request_latency"} {
		for _, stat := range []string{"mean", "median", "p90", "p95", "p99"} {
			v := Value{Metric: metric, Stat: stat, Unit: "ms"}
			v.Value = want[v.Name()]
			list = append(list, Outcome{Case: c, Value: v, Predicted: got[v.Name()]})
		}
	}
	return list
}

// request is a line of requests.jsonl, times in seconds.
type request struct {
	Output  int     `json:"output_toks"`
	Queued  float64 `json:"queued_ts"`
	First   float64 `json:"first_token_ts"`
	Last    float64 `json:"last_token_ts"`
	Arrival float64 `json:"arrival_time"`
}

// readRequests reads what a client saw of a run.
func readRequests(path string) (*Served, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Served{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if r.First < r.Queued || r.Last < r.First {
			return nil, fmt.Errorf("%s:%d: queued_ts %v, first_token_ts %v, last_token_ts %v: want times in order", path, n, r.Queued, r.First, r.Last)
		}
		s.TTFT = append(s.TTFT, 1000*(r.First-r.Queued))
		tpot := math.NaN()
		if r.Output > 1 {
			tpot = 1000 * (r.Last - r.First) / float64(r.Output-1)
		}
		s.TPOT = append(s.TPOT, tpot)
		s.E2E = append(s.E2E, 1000*(r.Last-r.Queued))
		s.Tokens += int64(r.Output)
	}
	return s, lines.Err()
}

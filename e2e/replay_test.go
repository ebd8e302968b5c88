//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// agents is a trace of three agent runs with token ids and tools.
const agents = "../examples/agents.jsonl"

// replayed is what the tests read of a repetition's files.
type replayed struct {
	Faithful bool   `json:"faithful"`
	Force    string `json:"force"`
	Fidelity struct {
		PlannedCalls   int `json:"calls_planned"`
		PlannedTokens  int `json:"tokens_planned"`
		ForcedTokens   int `json:"tokens_forced"`
		VerifiedTokens int `json:"tokens_verified"`

		PlannedExperts  int `json:"experts_planned"`
		ForcedExperts   int `json:"experts_forced"`
		VerifiedExperts int `json:"experts_verified"`
	} `json:"fidelity"`
	Servers []struct {
		Counters map[string]int `json:"counters"`
	} `json:"servers"`
	calls map[string]turn
}

// turn is a call as it came back.
type turn struct {
	IDs    []int
	Finish string
	Cached int
}

// readRun reads the folder of a repetition.
func readRun(t *testing.T, dir string) replayed {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "live.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r replayed
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.calls = map[string]turn{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var call struct {
			Request string `json:"request_id"`
			IDs     []int  `json:"ids"`
			Finish  string `json:"finish_reason"`
			Usage   struct {
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			t.Fatal(err)
		}
		r.calls[call.Request] = turn{call.IDs, call.Finish, call.Usage.Details.Cached}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplayForcesEveryToken(t *testing.T) {
	text, err := os.ReadFile(agents)
	if err != nil {
		t.Fatal(err)
	}
	// Triton's interpreter has no top-p: the engine of MoEV2 ends.
	plain := file(t, "plain.jsonl", strings.ReplaceAll(string(text), `"top_p":0.95,`, ""))
	for _, c := range []struct {
		server *Server
		mode   string
		trace  string
	}{{DenseV1, "plugin", agents}, {MoEV2, "native", plain}} {
		t.Run(c.mode, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			must(t, "replay", c.trace, "--target", start(t, c.server).URL, "--tokens", "exact", "--tools", "scaled:0.1", "--out", out, "-q")
			r := readRun(t, out)
			f := r.Fidelity
			if !r.Faithful || r.Force != c.mode || f.PlannedTokens == 0 || f.ForcedTokens != f.PlannedTokens || f.VerifiedTokens != f.PlannedTokens {
				t.Errorf("force %s, faithful %v, %+v", r.Force, r.Faithful, f)
			}
			if len(r.calls) != f.PlannedCalls {
				t.Errorf("%d calls of %d came back", len(r.calls), f.PlannedCalls)
			}
			got := r.Servers[0].Counters
			if c.mode == "plugin" && (got["calls_forced"] != f.PlannedCalls || got["tokens_verified"] != f.PlannedTokens || got["tokens_wrong"] != 0) {
				t.Errorf("the plug-in counted %v, want %d calls and %d tokens", got, f.PlannedCalls, f.PlannedTokens)
			}
		})
	}
}

// Repetitions may differ in time only.
func TestForcedRepetitionsAreTheSameWork(t *testing.T) {
	const n = 5
	out := filepath.Join(t.TempDir(), "run")
	o := must(t, "replay", agents, "--target", start(t, DenseV1).URL, "--concurrency", "2", "--tools", "none", "-n", fmt.Sprint(n), "--out", out, "-q")
	first := readRun(t, filepath.Join(out, "repetition-1"))
	hits := 0
	for _, call := range first.calls {
		hits += call.Cached
	}
	if len(first.calls) == 0 || hits == 0 {
		t.Fatalf("%d calls with %d cached tokens: there is nothing to compare", len(first.calls), hits)
	}
	for i := 2; i <= n; i++ {
		r := readRun(t, filepath.Join(out, fmt.Sprintf("repetition-%d", i)))
		if !r.Faithful || !reflect.DeepEqual(r.calls, first.calls) {
			t.Errorf("repetition %d: faithful %v, calls\n%v\nwant\n%v", i, r.Faithful, r.calls, first.calls)
		}
	}
	if !strings.Contains(o.stdout, "output tokens 0.00 %") {
		t.Errorf("the summary says otherwise:\n%s", o.stdout)
	}
}

// Without forcing the same trace is other work: this is what the tests above see.
func TestUnforcedRepetitionsAreNot(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	must(t, "replay", agents, "--target", start(t, DenseV1).URL, "--tokens", "length", "--force", "length", "--tools", "none", "-n", "2", "--out", out, "-q")
	one, two := readRun(t, filepath.Join(out, "repetition-1")), readRun(t, filepath.Join(out, "repetition-2"))
	if one.Fidelity.ForcedTokens != 0 || reflect.DeepEqual(one.calls, two.calls) {
		t.Errorf("%d tokens forced, both repetitions %v", one.Fidelity.ForcedTokens, one.calls)
	}
}

// What this server would cut without a word never reaches it.
func TestSilentCutsAreCaughtBeforeSending(t *testing.T) {
	s := start(t, DenseV1)
	node := func(prompt, output int) string {
		p, err := json.Marshal(seeded(1).ids(prompt))
		if err != nil {
			t.Fatal(err)
		}
		o, err := json.Marshal(seeded(2).ids(output))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"id":"cut","task":"t","kind":"llm","not_before_ms":0,"input":{"tokens":%s},"output":{"tokens":%s}}`, p, o)
	}
	for name, c := range map[string]struct{ node, reason string }{
		"context":    {node(500, 40), "max_model_len"},
		"vocabulary": {strings.Replace(node(10, 3), "[", fmt.Sprintf("[%d,", vocabulary), 1), "vocabulary"},
		"grammar": {strings.Replace(node(10, 3), `"input"`, `"sampling":{"structured_outputs":{"regex":"a+"}},"input"`, 1),
			"structured_outputs"},
		"choices": {strings.Replace(node(10, 3), `"input"`, `"sampling":{"n":2},"input"`, 1), "n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "cut.jsonl", `{"schema":"reprise.trace","version":1,"ids":"global"}`+"\n"+c.node+"\n")
			o := reprise(t, "replay", path, "--target", s.URL, "-q")
			if o.code != 2 || !strings.Contains(o.stderr, "invocation cut") || !strings.Contains(o.stderr, c.reason) {
				t.Errorf("exit code %d, want 2 for %s:\n%s", o.code, c.reason, o.stderr)
			}
		})
	}
}

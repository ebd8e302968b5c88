package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/live/livetest"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
)

// TestStories replays traces on servers in a bubble, in which time passes only where
// somebody waits. The language:
//
//	server NAME plugin native cached times context=100 per_input=1ms per_output=10ms
//	{"wrong_token":2,"calls":"b"}
//	----
//	(a server at http://NAME; faults of the calls whose id contains "calls")
//
//	replay concurrency=2 tools=none speedup=2 n=2 on_failure=continue retries=1 …
//	----
//	what it says; then each call: when it was due, sent and had ended, how, and when
//	which pieces came
//
//	received NAME
//	----
//	the requests of the last replay: path, id and salt
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{options: map[string]livetest.Options{}}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "server":
				return s.server(t, td)
			case "replay":
				return s.replay(t, td)
			case "received":
				return s.received[td.CmdArgs[0].Key]
			}
			td.Fatalf(t, "unknown command")
			return ""
		})
	})
}

type story struct {
	names    []string
	options  map[string]livetest.Options
	received map[string]string
}

// fault is something that goes wrong with some calls.
type fault struct {
	livetest.Faults
	Calls string
}

func (s *story) server(t *testing.T, td *datadriven.TestData) string {
	o := livetest.Options{Plugin: td.HasArg("plugin"), CachedCount: td.HasArg("cached"), Times: td.HasArg("times")}
	o.ScaleOut, o.TraceReplay = td.HasArg("native"), td.HasArg("native")
	td.MaybeScanArgs(t, "context", &o.MaxModelLen)
	for key, d := range map[string]*time.Duration{"per_input": &o.PerInput, "per_output": &o.PerOutput} {
		if arg, ok := td.Arg(key); ok {
			var err error
			if *d, err = time.ParseDuration(arg.Vals[0]); err != nil {
				td.Fatalf(t, "%v", err)
			}
		}
	}
	if td.Input != "" {
		var f fault
		if err := json.Unmarshal([]byte(td.Input), &f); err != nil {
			td.Fatalf(t, "%v", err)
		}
		o.Faults = func(r *livetest.Received) livetest.Faults {
			if r.ID == "" || !strings.Contains(r.ID, f.Calls) { // the probe has no id
				return livetest.Faults{}
			}
			return f.Faults
		}
	}
	name := td.CmdArgs[0].Key
	if _, known := s.options[name]; !known {
		s.names = append(s.names, name)
	}
	s.options[name] = o
	return ""
}

// settings are those of a replay on all servers.
func (s *story) settings(t *testing.T, td *datadriven.TestData) (live.Settings, string) {
	p := live.Defaults()
	p.Run, p.ScrapeMs = "r", 0
	for _, name := range s.names {
		p.Targets = append(p.Targets, "http://"+name)
	}
	path := "agents.jsonl"
	for _, arg := range td.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		number, _ := strconv.ParseFloat(value, 64) // 0 where it is none
		var err error
		switch arg.Key {
		case "trace":
			path = value
		case "tokens":
			p.Tokens = value
		case "force":
			p.Force = value
		case "tools":
			p.Tools, err = live.ParsePace(value)
		case "concurrency":
			n := int(number)
			p.Arrival.Mode, p.Arrival.Concurrency = "concurrency", &n
		case "ramp":
			p.RampMs = number
		case "speedup":
			p.Arrival.Speedup = number
		case "n":
			p.Repetitions = int(number)
		case "warmup":
			p.WarmupTasks = int(number)
		case "on_failure":
			p.OnFailure = value
		case "on_refused":
			p.OnRefused = value
		case "retries":
			p.Retries = int(number)
		case "stall":
			p.StallMs = number
		case "no_stream":
			p.Stream = false
		case "salt":
			p.CacheSalt = value
		case "router":
			p.Router.Mode = value
		case "dp_ranks":
			p.DPRanks = int(number)
		case "session_header":
			p.SessionHeader = value
		case "command":
			p.ToolCommands = map[string]string{"*": value}
		case "interrupt":
		default:
			td.Fatalf(t, "unknown setting %s", arg.Key)
		}
		if err != nil {
			td.Fatalf(t, "%v", err)
		}
	}
	return p, path
}

func (s *story) replay(t *testing.T, td *datadriven.TestData) (out string) {
	p, path := s.settings(t, td)
	dir := filepath.Join(t.TempDir(), "run")
	interrupt := time.Duration(0)
	if arg, ok := td.Arg("interrupt"); ok {
		var err error
		if interrupt, err = time.ParseDuration(arg.Vals[0]); err != nil {
			td.Fatalf(t, "%v", err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		tr := open(t, path)
		network := livetest.NewNetwork()
		servers := map[string]*livetest.Server{}
		for _, name := range s.names {
			servers[name] = livetest.New(s.options[name])
			defer network.Serve(name, servers[name])()
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, err := live.Prepare(ctx, p, tr, live.Options{Dial: network.Dial, Out: dir})
		if err != nil {
			var unable *live.Unable
			if errors.As(err, &unable) {
				out = "unable: "
			}
			out += err.Error()
			return
		}
		for _, note := range r.Notes() {
			out += note + "\n"
		}
		for _, server := range servers {
			server.Forget()
		}
		if interrupt > 0 {
			time.AfterFunc(interrupt, cancel)
		}
		result, err := r.Run(ctx)
		if err != nil {
			out = err.Error()
			return
		}
		var text strings.Builder
		if err := result.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(text.String(), "priced by     live\n")
		out += strings.TrimSpace(rest) + "\n"
		for _, one := range result.Repetitions {
			out += fmt.Sprintf("faithful %v, interrupted %v\n", one.Faithful(), one.Info.Interrupted) + calls(t, one.Dir)
		}
		s.received = map[string]string{}
		for name, server := range servers {
			s.received[name] = requests(server)
		}
	})
	return out
}

// open opens a trace of testdata.
func open(t *testing.T, name string) trace.Trace {
	t.Helper()
	tr, err := formats.Open([]string{filepath.Join("testdata", name)}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// calls are the lines of calls.jsonl and tools.jsonl, shortened.
func calls(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	lines(t, filepath.Join(dir, rundir.CallsFile), func(text []byte) {
		var b strings.Builder
		var c struct {
			Request  string          `json:"request_id"`
			Status   string          `json:"status"`
			Reason   string          `json:"reason"`
			Target   string          `json:"target"`
			Attempts int             `json:"attempts"`
			Due      float64         `json:"due_ms"`
			Send     float64         `json:"send_ms"`
			Last     float64         `json:"last_byte_ms"`
			Chunks   json.RawMessage `json:"chunks"`
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  %s at %s due %v sent %v ended %v %s", c.Request, strings.TrimPrefix(c.Target, "http://"), c.Due, c.Send, c.Last, c.Status)
		if c.Reason != "" {
			fmt.Fprintf(&b, " (%s)", c.Reason)
		}
		if c.Attempts > 1 {
			fmt.Fprintf(&b, ", attempt %d", c.Attempts)
		}
		fmt.Fprintf(&b, " %s\n", c.Chunks)
		all = append(all, b.String())
	})
	lines(t, filepath.Join(dir, rundir.ToolsFile), func(text []byte) {
		var c struct {
			Node string  `json:"node_id"`
			Due  float64 `json:"due_ms"`
			Exit int     `json:"exit"`
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("  %s was run, due %v, exit %d\n", c.Node, c.Due, c.Exit))
	})
	slices.Sort(all) // what happens at one instant is written in any order
	return strings.Join(all, "")
}

func lines(t *testing.T, path string, visit func([]byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		visit(in.Bytes())
	}
}

// requests are what a server has received.
func requests(s *livetest.Server) string {
	var all []string
	for _, r := range s.Received() {
		var b strings.Builder
		var body struct {
			Salt string `json:"cache_salt"`
		}
		_ = json.Unmarshal(r.Body, &body) // what is no JSON has no salt
		fmt.Fprintf(&b, "%s %s salt %q", r.Path, r.ID, body.Salt)
		for _, name := range []string{"X-Data-Parallel-Rank", "X-Session"} {
			if value := r.Header.Get(name); value != "" {
				fmt.Fprintf(&b, " %s %s", name, value)
			}
		}
		all = append(all, b.String()+"\n")
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

package record_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/record"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/tokenize"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
)

const (
	chatPath = "/v1/chat/completions"
	hello    = `{"model":"m","messages":[{"role":"user","content":"hello"}]%s}`
)

// flat is the ids of a sequence.
func flat(s *token.Seq) (all []int) {
	if s == nil {
		return nil
	}
	parent, keep := s.Parent()
	all = flat(parent)
	for _, id := range s.Leaf().Tokens {
		all = append(all[:min(keep, len(all))], int(id))
		keep = len(all)
	}
	return all
}

func wantIDs(t *testing.T, n *trace.Node, input, output []int, from string) {
	t.Helper()
	if got := flat(n.Input); !slices.Equal(got, input) {
		t.Errorf("input %v, want %v", got, input)
	}
	if got := flat(n.Output); !slices.Equal(got, output) {
		t.Errorf("output %v, want %v", got, output)
	}
	if got := n.Details.Recorded.IDs; got != from {
		t.Errorf("ids from %q, want %q", got, from)
	}
}

func withEnd(text string) []int { return append(bytesOf(text), eos) }

func TestIDsComeWithTheAnswerWhereTheServerCanReturnThem(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		s := start(t, &upstream{answer: "hi", describes: true})
		s.post(chatPath, fmt.Sprintf(hello, stream))
		tasks, result, _ := s.finish()
		wantIDs(t, one(t, tasks), ids("<user>hello<assistant>"), withEnd("hi"), "server")
		if result.WithIDs != 1 || result.Incomplete != nil {
			t.Errorf("%+v", result)
		}
	}
	s := start(t, &upstream{answer: "hi", describes: true})
	s.post("/v1/completions", `{"model":"m","prompt":"one two"}`)
	s.post("/v1/completions", `{"model":"m","prompt":[7,8,9],"stream":true}`)
	tasks, _, _ := s.finish()
	wantIDs(t, &tasks[0].Nodes[0], bytesOf("one two"), withEnd("hi"), "server")
	wantIDs(t, &tasks[1].Nodes[0], []int{7, 8, 9}, withEnd("hi"), "server")
}

// Without such a server the ids come from /tokenize: those of the answer are what the
// conversation has behind the prompt, with the token that ended it.
func TestIDsComeFromTokenizeWhereAnswersHaveNone(t *testing.T) {
	for _, c := range []struct{ path, body, prompt string }{
		{chatPath, fmt.Sprintf(hello, ""), "<user>hello<assistant>"},
		{chatPath, fmt.Sprintf(hello, `,"stream":true`), "<user>hello<assistant>"},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`, ""},
	} {
		s := start(t, &upstream{answer: "hi", tokenizes: true, usage: true})
		s.post(c.path, c.body)
		tasks, _, _ := s.finish()
		if c.prompt == "" { // this server counts an answer in parts as nothing, so the counts differ
			if n := one(t, tasks); n.Input != nil || n.InputTokens == 0 {
				t.Errorf("ids that the server has counted otherwise are kept: %v", flat(n.Input))
			}
			continue
		}
		wantIDs(t, one(t, tasks), ids(c.prompt), withEnd("hi"), "tokenize")
	}
	s := start(t, &upstream{answer: "hi", tokenizes: true}, func(o *record.Options) { o.IDs = record.IDsAnswer })
	s.post(chatPath, fmt.Sprintf(hello, ""))
	tasks, _, _ := s.finish()
	if n := one(t, tasks); n.Input != nil || n.InputTokens == 0 || n.OutputTokens != 3 {
		t.Errorf("want lengths only: %+v", n)
	}
}

func TestIDsComeFromTheLocalTokenizerWhereTheServerHasNone(t *testing.T) {
	m, err := tokenize.Open("../tokenize/testdata")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, &upstream{answer: "hello world"}, func(o *record.Options) { o.Tokenizer = m })
	s.post("/v1/completions", `{"model":"m","prompt":"x y","stream":true}`)
	tasks, _, _ := s.finish()
	output, err := m.Encode("hello world", false)
	if err != nil {
		t.Fatal(err)
	}
	n := one(t, tasks)
	if got := flat(n.Output); len(got) != len(output) || n.Details.Recorded.IDs != "local" || n.InputTokens == 0 {
		t.Errorf("%v from %q, want %v", got, n.Details.Recorded.IDs, output)
	}
}

func TestTheOnlyChangeIsToAskForIDs(t *testing.T) {
	for _, c := range []struct {
		ask        string
		body, want string
	}{
		{record.AskAlways, `{"prompt":"x"}`, `{"return_token_ids":true,"prompt":"x"}`},
		{record.AskAlways, " {\n}", " {\"return_token_ids\":true\n}"},
		{record.AskAlways, `{"prompt":"x","return_token_ids":false}`, `{"prompt":"x","return_token_ids":false}`},
		{record.AskAlways, `[1`, `[1`},
		{record.AskAlways, ``, ``},
		{record.AskNever, `{"prompt":"x"}`, `{"prompt":"x"}`},
	} {
		u := &upstream{answer: "hi", describes: true}
		s := start(t, u, func(o *record.Options) { o.Ask = c.ask })
		s.post("/v1/completions", c.body)
		s.stop()
		if got := u.bodies(""); !slices.Contains(got, c.want) {
			t.Errorf("%s %q: the server has seen %q", c.ask, c.body, got)
		}
	}
}

func TestAClientThatHangsUpIsRecorded(t *testing.T) {
	u := &upstream{answer: "hi", describes: true, stall: make(chan struct{})}
	s := start(t, u)
	ctx, hangUp := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url+chatPath, strings.NewReader(fmt.Sprintf(hello, `,"stream":true`)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	for seen := ""; !strings.Contains(seen, `"i"`); {
		piece := make([]byte, 64)
		n, err := resp.Body.Read(piece)
		if seen += string(piece[:n]); err != nil {
			t.Fatal(err, seen)
		}
	}
	hangUp()
	_ = resp.Body.Close()
	eventually(t, "the call has ended", func() bool { return s.recorder.Counts().Cancelled == 1 })
	close(u.stall)
	tasks, result, _ := s.finish()
	n := one(t, tasks)
	wantIDs(t, n, ids("<user>hello<assistant>"), bytesOf("hi"), "server")
	if n.Details.Finish != "cancelled" || result.Incomplete != nil {
		t.Errorf("%+v, %+v", n.Details, result)
	}
}

// A server that breaks off, also behind a good status, leaves a failed call and a client
// that sees what it would have seen without a recorder.
func TestFailuresOfTheServerPassAndAreRecorded(t *testing.T) {
	for _, c := range []struct {
		name   string
		server *upstream
		reason string
	}{
		{"breaks off", &upstream{answer: "hi", breakAfter: 2}, "broken_off"},
		{"error in the stream", &upstream{answer: "hi", errorAfter: 1}, "error_in_answer"},
		{"refuses", &upstream{status: 401}, "status"},
	} {
		s := start(t, c.server)
		s.post(chatPath, fmt.Sprintf(hello, `,"stream":true`))
		tasks, result, path := s.finish()
		calls, err := os.ReadFile(path + record.CallsSuffix)
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) != 0 || result.LeftOut["failed"] != 1 || !bytes.Contains(calls, []byte(`"reason":"`+c.reason+`"`)) {
			t.Errorf("%s: %+v\n%s", c.name, result, calls)
		}
	}
}

func TestARetriedCallIsOneNode(t *testing.T) {
	u := &upstream{answer: "hi", describes: true, status: 503}
	s := start(t, u)
	s.post(chatPath, fmt.Sprintf(hello, ""))
	u.status = 0
	s.post(chatPath, fmt.Sprintf(hello, ""))
	tasks, result, _ := s.finish()
	if n := one(t, tasks); n.Details.Attempt != 1 || result.LeftOut["retried"] != 1 {
		t.Errorf("%+v %+v", n.Details, result)
	}
}

// everything is all bytes that a recording leaves.
func everything(t *testing.T, dir string) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// Keys stay off the disk, also where a server repeats them in an error, or an agent in
// its messages.
func TestKeysNeverReachTheDisk(t *testing.T) {
	const key = `sk-"very"-secret-0815`
	s := start(t, &upstream{status: 401})
	s.post(chatPath, fmt.Sprintf(hello, `,"user":"sk-another-secret"`), "Authorization", "Bearer "+key, "X-Api-Key", "sk-another-secret")
	s.post("/reprise/v1/marks", `{"mark":"tool_start","tool":"t1","args":{"key":"sk-another-secret"}}`, "X-Api-Key", "sk-another-secret")
	_, _, path := s.finish()
	all := everything(t, filepath.Dir(path))
	for _, secret := range []string{"very", "sk-another-secret"} {
		if bytes.Contains(all, []byte(secret)) {
			t.Errorf("%q is on the disk", secret)
		}
	}
	if !bytes.Contains(all, []byte("bad key")) {
		t.Error("the rest of the error is not")
	}
}

func TestRedactedRecordingsHoldNoText(t *testing.T) {
	u := &upstream{answer: "an answer in words", describes: true, tools: `[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"cmd\":\"words\"}"}}]`}
	s := start(t, u, func(o *record.Options) { o.Redact = true })
	s.post(chatPath, fmt.Sprintf(hello, `,"stop":["words"],"temperature":0.5,"tools":[{"type":"function","function":{"name":"bash","description":"words"}}]`))
	s.post("/reprise/v1/marks", `[{"mark":"tool_start","tool":"t1","args":"words"},{"mark":"tool_end","tool":"t1","result":"words"}]`)
	s.post("/v1/completions", `{"prompt":"words"}`)
	_, result, path := s.finish()
	all := everything(t, filepath.Dir(path))
	for _, text := range []string{"words", "hello"} {
		if bytes.Contains(all, []byte(text)) {
			t.Errorf("%q is on the disk", text)
		}
	}
	if result.WithIDs != 2 || !bytes.Contains(all, []byte(`"temperature":0.5`)) {
		t.Errorf("ids and numbers are not: %+v", result)
	}
}

// An agent's loop without any word about itself: the second call answers the tool call
// of the first, so it goes on from it, and the tool ran in between.
func TestALoopWithToolsIsInferred(t *testing.T) {
	const tools = `[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{}"}}]`
	u := &upstream{answer: "", describes: true, tools: tools}
	s := start(t, u)
	s.post(chatPath, fmt.Sprintf(hello, ""))
	u.tools = ""
	s.post(chatPath, `{"model":"m","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"","tool_calls":`+tools+`},
		{"role":"tool","tool_call_id":"call_1","content":"done"}]}`)
	tasks, result, _ := s.finish()
	if len(tasks) != 1 || result.Calls != 2 || result.Tools != 1 {
		t.Fatalf("%d tasks, %+v", len(tasks), result)
	}
	first, tool, second := &tasks[0].Nodes[0], &tasks[0].Nodes[1], &tasks[0].Nodes[2]
	if tool.Kind != trace.Tool || tool.Name != "bash" || tool.After[0].From != 0 || !tool.After[0].Inferred {
		t.Errorf("%+v", tool)
	}
	if second.After[0].From != 1 || second.Extends != 0 || second.Session != first.Session || second.Keep == 0 {
		t.Errorf("%+v", second)
	}
}

// What an agent states counts: its own names, sessions and waits, and nothing is marked
// as inferred.
func TestStatedGraphsAreKept(t *testing.T) {
	s := start(t, &upstream{answer: "hi", describes: true})
	call := func(name, session string, after string) {
		s.post(chatPath, fmt.Sprintf(hello, `,"seed":`+fmt.Sprint(len(name+session))), "X-Reprise-Task", "job", "X-Reprise-Session", session, "X-Reprise-Call", name, "X-Reprise-After", after)
	}
	mark := func(text string) {
		if answer := s.post("/reprise/v1/marks", text); answer != "" {
			t.Fatal(answer)
		}
	}
	call("plan", "main", "")
	mark(`{"mark":"tool_start","tool":"grep","name":"grep","session":"main","after":["plan"],"args":{"q":"x"}}`)
	mark(`{"mark":"spawn","session":"helper","parent":"main","after":["plan"]}`)
	call("help", "helper", "")
	mark(`{"mark":"tool_end","tool":"grep","result":"found"}`)
	mark(`{"mark":"join","session":"main","of":["grep","helper"]}`)
	call("sum", "main", "")
	tasks, result, _ := s.finish()
	if len(tasks) != 1 || tasks[0].ID != "job" || len(result.Notes) != 0 {
		t.Fatalf("%d tasks, %q", len(tasks), result.Notes)
	}
	nodes := tasks[0].Nodes
	var story []string
	for _, n := range nodes {
		line := n.ID + "@" + n.Session
		for _, e := range n.After {
			line += " " + nodes[e.From].ID
			if e.Inferred {
				line += "?"
			}
		}
		story = append(story, line)
	}
	want := []string{"plan@main", "grep@main plan", "help@helper plan", "sum@main grep help"}
	if !slices.Equal(story, want) {
		t.Errorf("%q, want %q", story, want)
	}
}

func TestWrongMarksAreRefused(t *testing.T) {
	s := start(t, &upstream{})
	for _, c := range []struct{ mark, says string }{
		{`{"mark":"tool_start"}`, "tool_start: tool is missing"},
		{`{"mark":"toolstart","tool":"x"}`, "want invocation, tool_start"},
		{`[{"mark":"join","session":"s"}]`, "join: of is missing"},
		{`{"mark":"spawn","sesion":"s"}`, "unknown field"},
		{``, "marks: "},
	} {
		if got := s.post("/reprise/v1/marks", c.mark); c.mark != "" && !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.mark, got, c.says)
		}
	}
	if n := s.recorder.Counts().Marks; n != 0 {
		t.Errorf("%d marks are kept", n)
	}
}

// npy is an .npy file of bytes.
func npy(rows, layers, topK int) string {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d), }\n", rows, layers, topK)
	file := []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(head)), 0}) + head)
	for i := range rows * layers * topK {
		file = append(file, byte(i/(layers*topK)))
	}
	return base64.StdEncoding.EncodeToString(file)
}

// Rows of expert ids of a conversation are stored once, and together they are those of
// all positions.
func TestExpertsStandBesideTheTrace(t *testing.T) {
	u := &upstream{answer: "hi", describes: true, routes: func(rows int) string { return npy(rows, 2, 1) }}
	s := start(t, u)
	s.post(chatPath, fmt.Sprintf(hello, ""))
	s.post(chatPath, `{"model":"m","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"more"}]}`)
	tasks, result, path := s.finish()
	if result.Experts != 2 {
		t.Fatalf("%+v", result)
	}
	f, err := experts.Open(experts.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last := len(tasks[0].Nodes) - 1
	second := &tasks[0].Nodes[last]
	if e := second.Details.Experts; e.From != second.Keep-1 || e.Holes != nil {
		t.Errorf("%+v, %d tokens are kept", e, second.Keep)
	}
	whole, err := f.Whole(tasks[0], last)
	if err != nil || whole.Known() != experts.Positions(second) {
		t.Fatal(err, whole.Known())
	}
	for i := range whole.Rows {
		if int(whole.Row(i)[0]) != i {
			t.Errorf("row %d: %v", i, whole.Row(i))
		}
	}
}

// A journal whose recorder was killed makes a trace of the calls that had ended, and
// says what is missing; a line that was cut is no call.
func TestAKilledRecordingKeepsWhatHadEnded(t *testing.T) {
	s := start(t, &upstream{answer: "hi", describes: true})
	s.post(chatPath, fmt.Sprintf(hello, ""))
	whole, err := os.ReadFile(s.journal)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.journal")
	text := slices.Concat(whole, []byte(`{"begin":{"seq":2,"ms":5}}`+"\n"+`{"call":{"seq":2,"api":"ch`))
	if err := os.WriteFile(cut, text, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.jsonl")
	result, err := record.Finish(cut, path)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, one(t, tasksOf(t, path)), ids("<user>hello<assistant>"), withEnd("hi"), "server")
	if got := fmt.Sprint(result.Incomplete); !strings.Contains(got, "stopped before it could end") || !strings.Contains(got, "1 call was in flight") {
		t.Error(got)
	}
}

func TestTheStatusCountsWhatPasses(t *testing.T) {
	s := start(t, &upstream{answer: "hi", describes: true})
	s.post(chatPath, fmt.Sprintf(hello, ""))
	s.post("/v1/embeddings", "{}")
	resp, err := http.Get(s.url + "/reprise/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var c record.Counts
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	if c.Calls != 1 || c.PassedOn != 1 || c.WithIDs != 1 || c.OutputIDs != 3 {
		t.Errorf("%+v", c)
	}
}

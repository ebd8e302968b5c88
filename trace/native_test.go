package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/tracetest"
)

const blockSize = 4

// anyTrace draws the tasks of a trace. Times are multiples of grid ms.
func anyTrace(t *rapid.T, grid float64) (trace.Header, []*trace.Task) {
	h := trace.Header{
		Format:    trace.Native,
		BlockSize: blockSize,
		IDs:       trace.IDsGlobal,
		IDsCover:  rapid.SampledFrom([]string{"", trace.CoverStarted, trace.CoverFull}).Draw(t, "cover"),
		Model:     rapid.SampledFrom([]string{"", "a \"model\"\n"}).Draw(t, "model"),
		Source:    trace.Origin{Digest: rapid.SampledFrom([]string{"", "sha256:ab"}).Draw(t, "digest")},

		Incomplete: rapid.SampledFrom([]string{"", "2 calls were in flight"}).Draw(t, "incomplete"),
	}
	var tasks []*trace.Task
	for i := range rapid.IntRange(1, 6).Draw(t, "tasks") {
		tasks = append(tasks, anyTask(t, &h, i, grid))
	}
	return h, tasks
}

// anyTask draws a graph of nodes, each of which comes after all it waits for.
func anyTask(t *rapid.T, h *trace.Header, number int, grid float64) *trace.Task {
	ms := func(name string) float64 { return grid * float64(rapid.IntRange(0, 1<<20).Draw(t, name)) }
	task := &trace.Task{ID: fmt.Sprintf("t%d", number), ReleaseMs: ms("release")}
	n := rapid.IntRange(1, 6).Draw(t, "nodes")
	if n == 1 && rapid.Bool().Draw(t, "flat") {
		task.ID = fmt.Sprintf("t%d/0", number)
	}
	turns := map[string]int32{}
	for i := range n {
		node := trace.Node{
			ID:      fmt.Sprintf("t%d/%d", number, i),
			Session: rapid.SampledFrom([]string{"", task.ID, "ü"}).Draw(t, "session"),
			Kind:    rapid.SampledFrom([]trace.Kind{trace.LLM, trace.LLM, trace.LLM, trace.Tool, trace.Think}).Draw(t, "kind"),
			Extends: -1,
			Details: anyDetails(t),
		}
		for from := range i {
			if rapid.IntRange(0, 2).Draw(t, "waits") == 0 {
				node.After = append(node.After, anyEdge(t, task, from, ms))
			}
		}
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			node.NotBeforeMs = ms("not before")
		}
		if node.Kind == trace.LLM {
			node.Priority = rapid.Int32().Draw(t, "priority")
			anyPrompt(t, h, task, &node)
			if node.Session != "" {
				node.Turn = turns[node.Session]
				turns[node.Session]++
			}
		} else {
			node.Name, node.DurationMs = "tool", ms("duration")
		}
		task.Nodes = append(task.Nodes, node)
	}
	return task
}

func anyEdge(t *rapid.T, task *trace.Task, from int, ms func(string) float64) trace.Edge {
	e := trace.Edge{
		From:     int32(from),
		Trigger:  rapid.SampledFrom([]trace.Trigger{trace.Completion, trace.Dispatch, trace.Output}).Draw(t, "trigger"),
		DelayMs:  ms("delay"),
		Inferred: rapid.Bool().Draw(t, "inferred"),
	}
	if e.Trigger != trace.Output {
		return e
	}
	if out := task.Nodes[from].OutputTokens; out > 0 {
		e.AtOutput = int32(rapid.IntRange(1, int(out)).Draw(t, "position"))
	} else {
		e.Trigger = trace.Completion
	}
	return e
}

// anyPrompt draws what goes into a call and what comes out of it.
func anyPrompt(t *rapid.T, h *trace.Header, task *trace.Task, n *trace.Node) {
	n.OutputTokens = int32(rapid.IntRange(0, 5).Draw(t, "output"))
	if rapid.Bool().Draw(t, "output ids") {
		ids := rapid.SliceOfN(rapid.Uint32(), int(n.OutputTokens), int(n.OutputTokens)).Draw(t, "out")
		n.Output = token.IDs(ids)
	}
	var context *token.Seq
	for i := range task.Nodes {
		from := &task.Nodes[i]
		if from.Kind != trace.LLM || rapid.Bool().Draw(t, "not this") {
			continue
		}
		n.Extends = int32(i)
		n.Keep = int32(rapid.IntRange(0, int(from.InputTokens+from.OutputTokens)).Draw(t, "keep"))
		context = contextOf(from, int(n.Keep))
		break
	}
	own := rapid.IntRange(0, 10).Draw(t, "own")
	n.InputTokens = n.Keep + int32(own)
	n.Input = context
	extend := func(leaf *token.Seq) { n.Input = n.Input.Extend(n.Input.Len(), leaf) }
	switch depth := rapid.SampledFrom([]trace.Depth{trace.Lengths, trace.Blocks, trace.Tokens}).Draw(t, "depth"); {
	case own == 0:
	case depth == trace.Tokens:
		extend(token.IDs(rapid.SliceOfN(rapid.Uint32(), own, own).Draw(t, "tokens")))
	case depth == trace.Blocks:
		covered := own
		if h.IDsCover == trace.CoverFull {
			covered = own / blockSize * blockSize
		}
		blocks := (covered + blockSize - 1) / blockSize
		if blocks > 0 {
			extend(token.Blocks(rapid.SliceOfN(rapid.Uint64(), blocks, blocks).Draw(t, "ids"), blockSize, covered, 0))
		}
		if blocks > 0 && covered < own {
			extend(trace.PrivatePrompt(n.ID, own-covered))
		}
		if blocks == 0 && context != nil {
			extend(trace.PrivatePrompt(n.ID, own))
		}
	case context != nil:
		extend(trace.PrivatePrompt(n.ID, own))
	}
}

// contextOf is the first keep tokens of a node's input and output, as readers make
// it: what is known by its length only becomes tokens of the node.
func contextOf(n *trace.Node, keep int) *token.Seq {
	if n.Input == nil {
		n.Input = trace.PrivatePrompt(n.ID, int(n.InputTokens))
	}
	if keep > int(n.InputTokens) && n.Output == nil {
		n.Output = trace.Generated(n.ID, int(n.OutputTokens))
	}
	context := n.Input
	if n.Output != nil {
		context = context.Extend(context.Len(), n.Output)
	}
	return context.Extend(keep, nil)
}

func anyDetails(t *rapid.T) *trace.Details {
	if rapid.IntRange(0, 2).Draw(t, "details") > 0 {
		return nil
	}
	text := rapid.SampledFrom([]string{"", "x"})
	d := &trace.Details{
		Model: text.Draw(t, "model"), Class: text.Draw(t, "class"),
		Attempt:        int32(rapid.IntRange(0, 3).Draw(t, "attempt")),
		StrictPriority: rapid.Uint32().Draw(t, "strict"),
	}
	if rapid.Bool().Draw(t, "raw") {
		d.Args, d.Result = json.RawMessage(`{"a":[1,2.50,"x y"]}`), json.RawMessage(`null`)
	}
	if rapid.Bool().Draw(t, "recorded") {
		d.Recorded = &trace.Recorded{StartMs: math.NaN(), FirstTokenMs: rapid.Float64Range(0, trace.MaxMs).Draw(t, "first"), EndMs: 7, IDs: "client+server"}
	}
	return d
}

// save writes tasks to a file of the given name.
func save(t *rapid.T, path string, h trace.Header, tasks []*trace.Task) []byte {
	w, err := trace.Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := w.Write(task); err != nil {
			t.Fatalf("%v\n%s", err, tracetest.Story([]*trace.Task{task}))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// reopen reads a file.
func reopen(t *rapid.T, path string) trace.Trace {
	inputs, err := trace.OpenInputs(path)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.OpenNative(inputs)
	if err != nil {
		text, _ := os.ReadFile(path)
		t.Fatalf("%v\n%s", err, text)
	}
	return tr
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		h, tasks := anyTrace(r, 1./1024)
		path := filepath.Join(dir, "t.jsonl"+rapid.SampledFrom([]string{"", ".gz", ".zst"}).Draw(r, "name"))
		first := save(r, path, h, tasks)
		tr := reopen(r, path)
		tracetest.Check(t, tr)
		// Tasks come back in order of time; where they tie, in the order of the file.
		back := tracetest.Tasks(t, tr)
		want := map[string]string{}
		for _, task := range tasks {
			settle(task)
			want[task.ID] = tracetest.Story([]*trace.Task{task})
		}
		for _, task := range back {
			if got := tracetest.Story([]*trace.Task{task}); got != want[task.ID] {
				r.Fatalf("%s\nwritten:\n%s\nread back:\n%s", first, want[task.ID], got)
			}
		}
		if hh := tr.Header(); hh.Model != h.Model || hh.Source != h.Source || hh.IDsCover != h.IDsCover {
			r.Fatalf("header %+v, want %+v", hh, h)
		}
	})
}

// settle is what reading makes of a task: it is released with its first node.
func settle(task *trace.Task) {
	first := math.Inf(1)
	for i := range task.Nodes {
		if n := &task.Nodes[i]; len(n.After) == 0 {
			first = min(first, n.NotBeforeMs)
		}
	}
	task.ReleaseMs += first
	for i := range task.Nodes {
		n := &task.Nodes[i]
		if n.NotBeforeMs > 0 {
			n.NotBeforeMs = max(0, n.NotBeforeMs-first)
		}
	}
}

func TestWritingTwiceGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		h, tasks := anyTrace(r, 0.1)
		first := save(r, filepath.Join(dir, "a.jsonl"), h, tasks)
		tr := reopen(r, filepath.Join(dir, "a.jsonl"))
		sorted := save(r, filepath.Join(dir, "b.jsonl"), tr.Header(), tracetest.Tasks(t, tr))
		tr = reopen(r, filepath.Join(dir, "b.jsonl"))
		again := save(r, filepath.Join(dir, "c.jsonl"), tr.Header(), tracetest.Tasks(t, tr))
		if !bytes.Equal(sorted, again) {
			r.Fatalf("first:\n%s\nagain:\n%s", sorted, again)
		}
		if len(tasks) == 1 && !bytes.Equal(first, sorted) {
			r.Fatalf("written:\n%s\nread and written:\n%s", first, sorted)
		}
	})
}

func TestWhatTheFormatCannotSayIsRefused(t *testing.T) {
	h := trace.Header{BlockSize: 4, IDs: trace.IDsGlobal}
	blocks := token.Blocks([]uint64{1, 2}, 4, 8, 0)
	for name, n := range map[string]trace.Node{
		"another block size":      {InputTokens: 8, Input: token.Blocks([]uint64{1}, 8, 8, 0)},
		"a scope":                 {InputTokens: 8, Input: token.Blocks([]uint64{1, 2}, 4, 8, 7)},
		"a tail without ids":      {InputTokens: 9, Input: blocks.Extend(8, trace.PrivatePrompt("n", 1))},
		"tokens of somebody else": {InputTokens: 9, Input: token.Stream(7, 9)},
		"a mixture":               {InputTokens: 9, Input: blocks.Extend(8, token.IDs([]uint32{1}))},
		"another length":          {InputTokens: 9, Input: blocks},
		"an unknown duration":     {Kind: trace.Tool, DurationMs: math.NaN()},
		"output of somebody else": {OutputTokens: 9, Output: token.Stream(7, 9)},
		"a node behind it":        {After: []trace.Edge{{From: 0}}},
		"broken JSON":             {Details: &trace.Details{Args: json.RawMessage(`{`)}},
	} {
		n.ID, n.Extends = "n", -1
		var b bytes.Buffer
		w, err := trace.NewWriter(&b, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&trace.Task{ID: "n", Nodes: []trace.Node{n}}); err == nil {
			t.Errorf("%s is written as %s", name, b.Bytes())
		}
	}
}

// FuzzNative opens any file. It is refused, or its streaming pass keeps what the
// report says and it can be written again: to bytes that stay the same.
func FuzzNative(f *testing.F) {
	f.Add(`{"schema":"reprise.trace","version":1,"block_size":4,"ids":"session","ids_cover":"full"}
{"id":"b","task":"T","kind":"llm","after":[{"id":"a","trigger":"output","at_output":1,"delay_ms":0.5}],"input":{"extends":"a","keep":6,"hash_ids":[3],"length":5},"output":{"tokens":[1]}}
{"id":"a","task":"T","kind":"llm","not_before_ms":1,"input":{"hash_ids":[7],"length":6},"output":{"length":3,"finish":"stop"},"sampling":{"t":0}}
{"id":"c","kind":"llm","not_before_ms":0,"input":{"tokens":[1,2]},"output":{"length":3},"recorded":{"end_ms":4}}`)
	f.Add(`{"schema":"reprise.trace","version":1}` + "\r\n" + `{"id":"t","kind":"tool","duration_ms":1e3,"experts":{"key":"k","holes":[[0,1]]}}`)
	f.Fuzz(func(t *testing.T, file string) {
		tr, err := open(t, t.TempDir(), file)
		if err != nil {
			return
		}
		tracetest.Check(t, tr)
		first, err := written(t, tr)
		if err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		tr, err = open(t, t.TempDir(), string(first))
		if err != nil {
			t.Fatalf("written and not read: %v\n%s", err, first)
		}
		again, err := written(t, tr)
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("%v\nfirst:\n%s\nagain:\n%s", err, first, again)
		}
	})
}

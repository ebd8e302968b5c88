package force_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// TestContract holds the requests and the refusals against testdata, in this language:
//
//	body mode=native prompt=1,2,3 output=7,8 salt=s priority=2 routes=r stream
//	{"temperature":0.5}
//	----
//	the body, one member a line
//
//	refuse mode=native prompt=1,2 output=7 context=10 vocabulary=100 ignore_grammar
//	{"n":2}
//	----
//	why, or "sent"
//
//	answer mode=plugin prompt=1,2,3 output=7,8 ids=7,9 finish=stop usage=3,2
//	----
//	what differs, one line each
func TestContract(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			s := parseStory(t, td)
			switch td.Cmd {
			case "body":
				return s.body(t, td)
			case "refuse":
				return s.refuse()
			case "answer":
				return s.answer(t, td)
			}
			td.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// story is one call in a story.
type story struct {
	mode   force.Mode
	node   trace.Node
	limits force.Limits
}

func parseStory(t *testing.T, td *datadriven.TestData) *story {
	t.Helper()
	s := &story{node: trace.Node{ID: "s1/0", Line: 7, Extends: -1, Details: &trace.Details{}}}
	var name string
	td.ScanArgs(t, "mode", &name)
	var err error
	if s.mode, err = force.Find(name); err != nil {
		td.Fatalf(t, "%v", err)
	}
	s.node.Input, s.node.InputTokens = sequence(t, td, "prompt")
	s.node.Output, s.node.OutputTokens = sequence(t, td, "output")
	td.MaybeScanArgs(t, "context", &s.limits.MaxModelLen)
	td.MaybeScanArgs(t, "vocabulary", &s.limits.Vocabulary)
	s.limits.IgnoreGrammar = td.HasArg("ignore_grammar")
	if td.Input != "" {
		s.node.Details.Sampling = json.RawMessage(td.Input)
	}
	return s
}

// sequence is ids, or "×5" for 5 tokens of which the ids are not known.
func sequence(t *testing.T, td *datadriven.TestData, key string) (*token.Seq, int32) {
	arg, ok := td.Arg(key)
	if !ok {
		return nil, 0
	}
	if text, unknown := strings.CutPrefix(arg.Vals[0], "×"); unknown {
		n, err := strconv.Atoi(text)
		if err != nil {
			td.Fatalf(t, "%v", err)
		}
		return nil, int32(n)
	}
	ids := numbers(t, td, arg.Vals)
	return token.IDs(ids), int32(len(ids))
}

func numbers(t *testing.T, td *datadriven.TestData, texts []string) (ids []uint32) {
	for _, text := range texts {
		for _, one := range strings.Split(text, ",") {
			n, err := strconv.ParseUint(one, 10, 32)
			if err != nil {
				td.Fatalf(t, "%v", err)
			}
			ids = append(ids, uint32(n))
		}
	}
	return ids
}

// call is the call that the node asks for.
func (s *story) call(t *testing.T, td *datadriven.TestData) *force.Call {
	sampling, err := force.SamplingOf(&s.node, s.limits)
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	c := &force.Call{Model: "m", N: int(s.node.OutputTokens), Sampling: sampling, Stream: td.HasArg("stream")}
	c.Prompt = force.NewFiller(s.limits.Vocabulary).Append(nil, &s.node)
	if s.node.Output != nil {
		c.Output = s.node.Output.Leaf().Tokens
	}
	td.MaybeScanArgs(t, "salt", &c.Salt)
	td.MaybeScanArgs(t, "routes", &c.Routes)
	td.MaybeScanArgs(t, "priority", &c.Priority)
	return c
}

func (s *story) body(t *testing.T, td *datadriven.TestData) string {
	body := s.mode.Append(nil, s.call(t, td))
	if !json.Valid(body) {
		td.Fatalf(t, "no JSON: %s", body)
	}
	return "POST " + s.mode.Path() + "\n" + strings.ReplaceAll(string(body), `,"`, ",\n  \"")
}

func (s *story) refuse() string {
	err := force.Refuse(s.mode, &s.node, s.limits)
	var r *force.Refusal
	if err != nil && !errors.As(err, &r) {
		return "not a refusal: " + err.Error()
	}
	if err != nil {
		return err.Error()
	}
	return "sent"
}

func (s *story) answer(t *testing.T, td *datadriven.TestData) string {
	a := &wire.Answer{Finish: "length"}
	td.MaybeScanArgs(t, "finish", &a.Finish)
	if arg, ok := td.Arg("ids"); ok {
		for _, id := range numbers(t, td, arg.Vals) {
			a.IDs = append(a.IDs, int32(id))
		}
	}
	if arg, ok := td.Arg("usage"); ok {
		n := numbers(t, td, arg.Vals)
		a.Usage = &wire.Usage{PromptTokens: int32(n[0]), CompletionTokens: int32(n[1])}
	}
	c := s.call(t, td)
	var b strings.Builder
	for _, d := range s.mode.Differences(c, a) {
		fmt.Fprintln(&b, d)
	}
	fmt.Fprintf(&b, "%d of %d tokens verified\n", force.Verified(c, a), c.N)
	return b.String()
}

func TestTheStrongestModeStandsFirst(t *testing.T) {
	if got, want := force.Names(), []string{"native", "plugin", "length", "none"}; !slices.Equal(got, want) {
		t.Errorf("modes %v, want %v", got, want)
	}
}

// Made-up ids are equal exactly where the trace says so.
func TestMadeUpIDsShareWhatTheTraceShares(t *testing.T) {
	f := force.NewFiller(1000)
	ids := func(s *token.Seq) []uint32 {
		return f.Append(nil, &trace.Node{ID: "n", Input: s, InputTokens: int32(s.Len())})
	}
	a := ids(token.Blocks([]uint64{1, 2, 3}, 4, 10, 0))
	b := ids(token.Blocks([]uint64{1, 2, 9}, 4, 12, 0))
	if !slices.Equal(a[:8], b[:8]) || slices.Equal(a[8:10], b[8:10]) {
		t.Errorf("ids\n %v and\n %v, want the first 8 equal and the next not", a, b)
	}
	if c := ids(token.Blocks([]uint64{1}, 4, 4, 77)); slices.Equal(a[:4], c) {
		t.Errorf("block 1 of another scope got the same ids: %v", c)
	}
	extended := token.Blocks([]uint64{1, 2, 3}, 4, 10, 0).Extend(6, token.IDs([]uint32{5, 6}))
	if got, want := ids(extended), append(slices.Clone(a[:6]), 5, 6); !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if other := f.Append(nil, &trace.Node{ID: "m", InputTokens: 4}); slices.Equal(other, f.Append(nil, &trace.Node{ID: "n", InputTokens: 4})) {
		t.Errorf("two prompts of which nothing is known are equal: %v", other)
	}
	for _, id := range append(a, b...) {
		if id < 250 || id >= 900 {
			t.Errorf("id %d, want one from the middle of the vocabulary", id)
		}
	}
}

func TestOwnTokensAreThoseBehindTheKeptOnes(t *testing.T) {
	first := token.IDs([]uint32{900, 2, 3})
	n := trace.Node{Input: first.Extend(2, token.IDs([]uint32{7, 8})), InputTokens: 4, Extends: 0, Keep: 2, Output: token.IDs([]uint32{5}), OutputTokens: 1}
	if got := force.Largest(&n); got != 8 {
		t.Errorf("largest own id %d, want 8", got)
	}
	n.Extends, n.Keep = -1, 0
	if got := force.Largest(&n); got != 900 {
		t.Errorf("largest id %d, want 900", got)
	}
}

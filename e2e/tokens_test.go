//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// samplings are ways to sample natively; none may reach the forced ids.
var samplings = []fields{
	{},
	{"temperature": 0},
	{"temperature": 1.0, "top_p": 0.8, "top_k": 20},
	{"temperature": 0.7, "presence_penalty": 0.5, "frequency_penalty": 0.3, "repetition_penalty": 1.1},
	{"temperature": 0.7, "stop": []string{"e"}, "min_tokens": 1},
	{"temperature": 1.0, "logprobs": 2},
}

// mixed is one call of a load in which prompts share prefixes and are longer than a
// chunk, outputs hold EOS, and every seventh call is not forced.
func mixed(i int) (body fields, want []int) {
	base := seeded(uint64(1000 + i%4)).ids(160)
	d := seeded(uint64(i))
	prompt := slices.Concat(base[:40+d.IntN(120)], d.ids(1+d.IntN(60)))
	want = d.output(1 + d.IntN(90))
	body = fields{"prompt": prompt, "max_tokens": len(want), "stream": i%4 != 3}
	if i%7 == 6 {
		body["ignore_eos"] = true
		return body, nil
	}
	maps.Copy(body, samplings[i%len(samplings)])
	if i%len(samplings) == 4 {
		body["stop_token_ids"] = []int{want[0]}
	}
	body["vllm_xargs"] = fields{"reprise_tokens": want}
	return body, want
}

func TestForcedTokensAreExactUnderLoad(t *testing.T) {
	s := start(t, DenseV1)
	const calls = 48
	before := s.status(t)
	preempted := s.metric(t, "vllm:num_preemptions_total")
	cached := s.metric(t, "vllm:prefix_cache_hits_total")
	tokens, forced := 0, 0
	for i := range calls {
		if _, want := mixed(i); want != nil {
			tokens, forced = tokens+len(want), forced+1
		}
	}
	each(t, calls, 12, func(i int) error {
		body, want := mixed(i)
		r, err := s.post(completions, body)
		switch {
		case err != nil:
			return err
		case r.status != 200 || r.code != 0:
			return fmt.Errorf("call %d: status %d, code %d: %s", i, r.status, r.code, r.message)
		case want != nil && !slices.Equal(r.ids, want):
			return fmt.Errorf("call %d: got %v, want %v", i, r.ids, want)
		case r.finish != "length" || r.usage.Completion != body["max_tokens"] || len(r.ids) != body["max_tokens"]:
			return fmt.Errorf("call %d: %d ids, %s, usage %+v, want %d by length", i, len(r.ids), r.finish, r.usage, body["max_tokens"])
		case !slices.Equal(r.prompt, body["prompt"].([]int)):
			return fmt.Errorf("call %d: the prompt came back as %v", i, r.prompt)
		}
		return nil
	})
	if n := s.metric(t, "vllm:num_preemptions_total") - preempted; n == 0 {
		t.Error("nothing was preempted: the load does not test preemption")
	}
	if n := s.metric(t, "vllm:prefix_cache_hits_total") - cached; n == 0 {
		t.Error("no prefix was cached: the load does not test prefix hits")
	}
	checkGrowth(t, before, s.status(t), map[string]int{
		"calls_forced": forced, "tokens_forced": tokens, "tokens_verified": tokens, "tokens_wrong": 0,
	})
}

// checkGrowth compares how much the plug-in's counters grew.
func checkGrowth(t *testing.T, before, after status, want map[string]int) {
	t.Helper()
	for name, n := range want {
		if got := after.Counters[name] - before.Counters[name]; got != n {
			t.Errorf("counter %s grew by %d, want %d", name, got, n)
		}
	}
}

func TestEveryEndpointForces(t *testing.T) {
	s := start(t, DenseV1)
	want := seeded(3).output(12)
	xargs := fields{"reprise_tokens": want}
	said := []fields{{"role": "user", "content": "fix the bug"}}
	for name, c := range map[string]struct {
		path   string
		body   fields
		silent bool // it answers without ids
	}{
		"completions": {path: completions, body: fields{"prompt": "run the test", "max_tokens": 12, "vllm_xargs": xargs}},
		"chat":        {path: chat, body: fields{"messages": said, "max_tokens": 12, "vllm_xargs": xargs}},
		"chat stream": {path: chat, body: fields{"messages": said, "max_tokens": 12, "vllm_xargs": xargs, "stream": true}},
		"generate": {path: generate, body: fields{"token_ids": []int{5, 6, 7},
			"sampling_params": fields{"max_tokens": 12, "extra_args": xargs}}},
		"messages":  {path: messages, body: fields{"messages": said, "max_tokens": 12, "vllm_xargs": xargs}, silent: true},
		"responses": {path: responses, body: fields{"input": "fix the bug", "max_output_tokens": 12, "vllm_xargs": xargs}, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.status(t)
			if r := s.call(t, c.path, c.body); !c.silent && !slices.Equal(r.ids, want) {
				t.Errorf("got %v, want %v", r.ids, want)
			}
			checkGrowth(t, before, s.status(t), map[string]int{"calls_forced": 1, "tokens_verified": len(want), "tokens_wrong": 0})
		})
	}
}

// Forcing what the model says by itself must not change what it thinks of it.
func TestLogprobsOfForcedTokensAreTheModelsOwn(t *testing.T) {
	s := start(t, DenseV1)
	body := func() fields {
		return fields{"prompt": seeded(8).ids(50), "max_tokens": 20, "temperature": 0, "ignore_eos": true,
			"logprobs": 0, "cache_salt": "own"}
	}
	free := s.call(t, completions, body())
	again := body()
	again["vllm_xargs"] = fields{"reprise_tokens": free.ids}
	forced := s.call(t, completions, again)
	if len(free.logprobs) != 20 || !slices.Equal(free.logprobs, forced.logprobs) {
		t.Errorf("free run %v\nforced   %v", free.logprobs, forced.logprobs)
	}
}

// pass is what the tests read of a line of the pass log.
type pass struct {
	Step    int      `json:"step"`
	Prefill [][2]int `json:"prefill"`
	Decodes int      `json:"decode_reqs"`
	Tokens  int      `json:"tokens"`
	Sched   int64    `json:"t_sched_end_ns"`
	Start   int64    `json:"t_start_ns"`
	End     int64    `json:"t_end_ns"`
}

func TestThePassLogAccountsForEveryToken(t *testing.T) {
	s := start(t, DenseV1)
	seen := len(passes(t, s))
	prompt, want := seeded(21).ids(300), seeded(22).output(30)
	s.call(t, completions, fields{"prompt": prompt, "max_tokens": len(want), "cache_salt": "alone",
		"vllm_xargs": fields{"reprise_tokens": want}})
	// The last output token is sampled and never computed.
	computed := len(prompt) + len(want) - 1
	log := awaitTokens(t, s, seen, computed)
	var sum, prefill int
	for i, p := range log {
		if p.Step != log[0].Step+i || p.Start < p.Sched || p.End <= p.Start {
			t.Errorf("pass %d is out of order: %+v", i, p)
		}
		n := p.Decodes
		for _, chunk := range p.Prefill {
			n += chunk[0]
			prefill += chunk[0]
		}
		if n != p.Tokens || p.Tokens > maxBatched {
			t.Errorf("pass %d of %d tokens accounts for %d", i, p.Tokens, n)
		}
		sum += n
	}
	if sum != computed || prefill != len(prompt) {
		t.Errorf("%d tokens in the log, %d of them prefill; want %d and %d", sum, prefill, computed, len(prompt))
	}
}

func passes(t *testing.T, s *Server) []pass {
	t.Helper()
	file, err := os.Open(s.Passes)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var log []pass
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var p pass
		// The last line may still be half written.
		if err := json.NewDecoder(strings.NewReader(lines.Text())).Decode(&p); err == nil {
			log = append(log, p)
		}
	}
	return log
}

// awaitTokens returns the passes from `from` on as soon as they hold that many tokens;
// the log is flushed when the engine falls idle.
func awaitTokens(t *testing.T, s *Server, from, tokens int) []pass {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		log := passes(t, s)[from:]
		sum := 0
		for _, p := range log {
			sum += p.Tokens
		}
		if sum >= tokens || time.Now().After(deadline) {
			return log
		}
		time.Sleep(100 * time.Millisecond)
	}
}

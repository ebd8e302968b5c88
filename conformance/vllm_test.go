package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/token"
)

// stepCase is one case of the recorded decisions of the real vLLM scheduler.
type stepCase struct {
	Name   string `json:"name"`
	Config struct {
		Async         bool            `json:"async_scheduling"`
		MaxNumSeqs    int             `json:"max_num_seqs"`
		MaxActive     *int            `json:"max_num_active_seqs"`
		MaxBatched    int             `json:"max_num_batched_tokens"`
		MaxScheduled  *int            `json:"max_num_scheduled_tokens"`
		MaxModelLen   int             `json:"max_model_len"`
		BlockSize     int             `json:"block_size"`
		NumGPUBlocks  int             `json:"num_gpu_blocks"`
		PrefixCaching bool            `json:"enable_prefix_caching"`
		Chunked       bool            `json:"enable_chunked_prefill"`
		LongThreshold int             `json:"long_prefill_token_threshold"`
		LongAdaptive  bool            `json:"long_prefill_token_threshold_adaptive"`
		Policy        string          `json:"policy"`
		ReserveISL    bool            `json:"scheduler_reserve_full_isl"`
		Watermark     float64         `json:"watermark"`
		Interval      int             `json:"prefill_schedule_interval"`
		Speculative   json.RawMessage `json:"speculative"`
	} `json:"config"`
	Input    string `json:"input"`
	Expected string `json:"expected"`
	MaxSteps int    `json:"max_steps"`
}

// stepRequest is one line of a case's input.
type stepRequest struct {
	ID          string   `json:"id"`
	ArrivalStep int      `json:"arrival_step"`
	Prompt      [][2]int `json:"prompt"`
	OutputLen   int32    `json:"output_length"`
	Output      [][2]int `json:"output"`
	Priority    int32    `json:"priority"`
	ArrivalTime *float64 `json:"arrival_time"`
	AbortStep   *int     `json:"abort_step"`
	AbortDuring *int     `json:"abort_during"`
}

// stepEvent is one line of what the scheduler did.
type stepEvent struct {
	Ev        string     `json:"ev"`
	Step      *int       `json:"step,omitempty"`
	Of        *int       `json:"of,omitempty"`
	Added     []string   `json:"added,omitempty"`
	Throttled bool       `json:"throttled,omitempty"`
	Aborted   []string   `json:"aborted,omitempty"`
	Scheduled []idTokens `json:"scheduled,omitempty"`
	New       []idHit    `json:"new,omitempty"`
	Resumed   []idHit    `json:"resumed,omitempty"`
	Preempted []string   `json:"preempted,omitempty"`
	Out       []idTokens `json:"out,omitempty"`
	Finished  [][]string `json:"finished,omitempty"`
	Running   int        `json:"running"`
	Waiting   int        `json:"waiting"`
	Free      int        `json:"free"`
}

type idTokens struct {
	ID string
	N  int32
}

type idHit struct {
	ID          string
	Hit, Lookup int32
}

func (x *idTokens) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&x.ID, &x.N}) }
func (x idTokens) MarshalJSON() ([]byte, error)  { return json.Marshal([]any{x.ID, x.N}) }
func (x *idHit) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&x.ID, &x.Hit, &x.Lookup})
}
func (x idHit) MarshalJSON() ([]byte, error) { return json.Marshal([]any{x.ID, x.Hit, x.Lookup}) }

// The rules named vllm decide step by step as the real scheduler does: the same
// requests in the same order with the same tokens, the same preemptions, cache
// hits and counts.
func TestDecisionsEqualTheRealVLLMScheduler(t *testing.T) {
	eachCase(t, func(t *testing.T, dir string, raw json.RawMessage) {
		var c stepCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		if s := string(c.Config.Speculative); s != "" && s != "null" {
			t.Skip("needs speculative decoding")
		}
		want := readLines[stepEvent](t, dir, c.Expected)
		got := runSteps(&c, readLines[stepRequest](t, dir, c.Input))
		for i := range min(len(got), len(want)) {
			if a, b := asJSON(got[i]), asJSON(want[i]); a != b {
				t.Fatalf("event %d:\n got %s\nwant %s", i, a, b)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d events, want %d", len(got), len(want))
		}
	}, func(engine string) bool { return strings.HasPrefix(engine, "vLLM") })
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// settings are the settings of a case.
func (c *stepCase) settings() engine.Settings {
	s := engine.Defaults()
	s.Rules = "vllm-0.32"
	s.BlockSize, s.NumGPUBlocks, s.MaxModelLen = c.Config.BlockSize, c.Config.NumGPUBlocks, &c.Config.MaxModelLen
	s.MaxNumSeqs, s.MaxNumBatchedTokens = c.Config.MaxNumSeqs, c.Config.MaxBatched
	s.EnablePrefixCaching, s.EnableChunkedPrefill = c.Config.PrefixCaching, c.Config.Chunked
	s.PrefillScheduleInterval = c.Config.Interval
	s.VLLM = engine.VLLM{
		AsyncScheduling: c.Config.Async, Policy: c.Config.Policy, Watermark: c.Config.Watermark, ReserveFullISL: c.Config.ReserveISL,
		LongPrefillTokenThreshold: c.Config.LongThreshold, LongPrefillAdaptive: c.Config.LongAdaptive,
		MaxNumActiveSeqs: c.Config.MaxActive, MaxNumScheduledTokens: c.Config.MaxScheduled,
	}
	return s
}

// stepper drives a rank by step numbers, as the oracle's loop does.
type stepper struct {
	c        *stepCase
	rank     *paged.Rank
	requests []stepRequest
	arrived  int
	open     map[string]bool
	outputs  map[string]int32 // received
	news     bool             // a finish or abort since the last schedule call
	added    []string
	aborted  []string
	queue    []queued // results not yet processed, oldest first
	events   []stepEvent
	fx       engine.Effects
}

// queued is a scheduled step.
type queued struct {
	step    int
	decided bool
	yields  []string
}

func runSteps(c *stepCase, requests []stepRequest) []stepEvent {
	settings := c.settings()
	s := &stepper{c: c, rank: paged.New(&settings), requests: requests, open: map[string]bool{}, outputs: map[string]int32{}}
	for t := 0; ; t++ {
		if !s.work() && len(s.queue) == 0 {
			if s.arrived == len(requests) {
				break
			}
			t = max(t, requests[s.arrived].ArrivalStep)
		}
		if c.MaxSteps > 0 && t >= c.MaxSteps {
			break
		}
		s.arrivals(t)
		if s.c.Config.Async {
			s.asyncStep(t)
		} else if s.work() {
			s.schedule(t)
			s.abortDuring(t)
			s.update()
		}
	}
	return s.events
}

func (s *stepper) work() bool { return len(s.open) > 0 || s.news }

// asyncStep queues a result and processes the oldest one once two are queued.
func (s *stepper) asyncStep(t int) {
	if s.work() {
		s.schedule(t)
		last := s.queue[len(s.queue)-1]
		if len(s.queue) < 2 && (last.decided || s.work()) {
			s.abortDuring(t)
			return
		}
	}
	s.abortDuring(t)
	s.update()
}

func (s *stepper) arrivals(t int) {
	for s.arrived < len(s.requests) && s.requests[s.arrived].ArrivalStep <= t {
		q := &s.requests[s.arrived]
		at := float64(s.arrived)
		if q.ArrivalTime != nil {
			at = *q.ArrivalTime
		}
		var prompt, output *token.Seq
		for _, seg := range q.Prompt {
			prompt = prompt.Extend(prompt.Len(), token.Stream(uint64(seg[0]), seg[1]))
		}
		for _, seg := range q.Output {
			output = output.Extend(output.Len(), token.Stream(uint64(seg[0]), seg[1]))
		}
		s.rank.Submit(&engine.Request{
			Row: int32(s.arrived), ID: q.ID, Prompt: prompt, Output: output, InputTokens: int32(prompt.Len()),
			MaxTokens: q.OutputLen, Priority: q.Priority, Arrival: at,
		})
		s.open[q.ID] = true
		s.added = append(s.added, q.ID)
		s.arrived++
	}
	for i := range s.arrived {
		if q := &s.requests[i]; q.AbortStep != nil && *q.AbortStep <= t {
			s.abort(i)
		}
	}
}

func (s *stepper) abortDuring(t int) {
	for i := range s.arrived {
		if q := &s.requests[i]; q.AbortDuring != nil && *q.AbortDuring == t {
			s.abort(i)
		}
	}
}

func (s *stepper) abort(row int) {
	id := s.requests[row].ID
	if !s.open[id] {
		return
	}
	s.fx.Events = s.fx.Events[:0]
	if !s.rank.Cancel(int32(row), &s.fx) {
		panic("open request is unknown to the rank: " + id)
	}
	delete(s.open, id)
	s.aborted = append(s.aborted, id)
	s.news = true
}

func (s *stepper) schedule(t int) {
	throttled := s.c.Config.Interval > 1 && t%s.c.Config.Interval != 0
	e := stepEvent{Ev: "schedule", Step: &t, Added: s.added, Aborted: s.aborted, Throttled: throttled}
	s.added, s.aborted, s.news = nil, nil, false
	p := engine.Pass{Throttled: throttled}
	s.fx.Events = s.fx.Events[:0]
	decided := s.rank.Schedule(&p, &s.fx) == engine.Decided
	q := queued{step: t, decided: decided}
	if decided {
		for _, share := range s.rank.Shares(nil) {
			id := s.requests[share.Row].ID
			e.Scheduled = append(e.Scheduled, idTokens{id, share.New})
			if share.Yields {
				q.yields = append(q.yields, id)
			}
		}
	}
	for _, ev := range s.fx.Events {
		id := s.requests[ev.Row].ID
		switch ev.Kind {
		case engine.Admitted:
			lookup := int32(0)
			for _, seg := range s.requests[ev.Row].Prompt {
				lookup += int32(seg[1])
			}
			hit := idHit{id, ev.N, lookup + s.outputs[id]}
			if ev.Again {
				e.Resumed = append(e.Resumed, hit)
			} else {
				e.New = append(e.New, hit)
			}
		case engine.Preempted:
			e.Preempted = append(e.Preempted, id)
		}
	}
	s.counts(&e)
	s.queue = append(s.queue, q)
}

func (s *stepper) update() {
	q := s.queue[0]
	s.queue = s.queue[1:]
	e := stepEvent{Ev: "update", Of: &q.step, Aborted: s.aborted}
	s.aborted = nil
	for _, id := range q.yields {
		if s.open[id] {
			e.Out = append(e.Out, idTokens{id, 1})
			s.outputs[id]++
		}
	}
	s.fx.Events = s.fx.Events[:0]
	if q.decided {
		s.rank.Complete(1, &s.fx)
	}
	for _, ev := range s.fx.Events {
		if ev.Kind == engine.Finished {
			id := s.requests[ev.Row].ID
			e.Finished = append(e.Finished, []string{id, "length"})
			delete(s.open, id)
			s.news = true
		}
	}
	s.counts(&e)
	s.events = append(s.events, e)
}

func (s *stepper) counts(e *stepEvent) {
	l := s.rank.Load()
	e.Running, e.Waiting, e.Free = l.Running, l.Waiting, l.BlocksTotal-l.BlocksUsed
	if e.Ev == "schedule" {
		s.events = append(s.events, *e)
	}
	e.Scheduled = slices.Clip(e.Scheduled)
}

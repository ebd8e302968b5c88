package livetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// answer makes the JSON of a job.
type answer struct {
	server       *Server
	job          *job
	began, first time.Time
	written      int
}

// piece is a part of a stream.
func (a *answer) piece(ids []int32, last bool) map[string]any {
	a.written += len(ids)
	c := map[string]any{"index": 0, "finish_reason": nil}
	if last && !a.job.faults.NoFinish {
		c["finish_reason"] = a.job.finished
	}
	a.tokens(c, ids)
	if last {
		a.experts(c)
	}
	return map[string]any{"id": "x", "model": a.server.options.Model, "choices": []any{c}}
}

// last is the event behind the tokens.
func (a *answer) last() map[string]any {
	m := map[string]any{"id": "x", "choices": []any{}, "usage": a.usage()}
	a.times(m)
	return m
}

// whole is an answer that is not streamed.
func (a *answer) whole(ids []int32) map[string]any {
	m := a.piece(ids, true)
	if !a.job.faults.NoUsage {
		m["usage"] = a.usage()
	}
	a.times(m)
	return m
}

// tokens puts ids into a choice, or text where the ids are not wanted.
func (a *answer) tokens(c map[string]any, ids []int32) {
	if a.job.ids {
		c["token_ids"] = ids
	}
	if a.job.path == "/v1/completions" {
		c["text"] = strings.Repeat("x", len(ids))
	}
}

func (a *answer) usage() map[string]any {
	in := int32(len(a.job.prompt)) + a.job.faults.ExtraPrompt
	u := map[string]any{"prompt_tokens": in, "completion_tokens": a.written, "total_tokens": int(in) + a.written}
	if a.server.options.CachedCount {
		u["prompt_tokens_details"] = map[string]any{"cached_tokens": a.job.cached}
	} else {
		u["prompt_tokens_details"] = nil
	}
	return u
}

// times adds what the server says of its own time; the token endpoint says nothing
// (spec/vllm-cpu-live.md 7).
func (a *answer) times(m map[string]any) {
	if !a.server.options.Times || a.job.path != "/v1/completions" {
		m["metrics"] = nil
		return
	}
	m["metrics"] = map[string]any{
		"queue_time_ms": 0.0, "time_to_first_token_ms": ms(a.first.Sub(a.began)), "generation_time_ms": ms(time.Since(a.first)),
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// experts adds the experts that were used.
func (a *answer) experts(c map[string]any) {
	e := a.server.options.Experts
	if e == nil {
		return
	}
	used := a.server.used(a.job, a.written)
	if a.job.routes != nil {
		a.server.mu.Lock()
		a.server.counters.ExpertsForced += a.job.routes.forced()
		a.server.mu.Unlock()
	}
	if e.Return {
		c["routed_experts"] = base64.StdEncoding.EncodeToString(used.npy())
	}
}

// output writes a stream.
type output struct {
	w      http.ResponseWriter
	flush  func()
	faults Faults
}

func newOutput(w http.ResponseWriter, f Faults) *output {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	o := &output{w: w, flush: func() {}, faults: f}
	if flusher, ok := w.(http.Flusher); ok {
		o.flush = flusher.Flush
	}
	o.flush()
	return o
}

// event writes an object.
func (o *output) event(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of plain values
	}
	o.text("data: " + string(text) + "\n\n")
}

func (o *output) done() { o.text("data: [DONE]\n\n") }

// text writes and flushes a text, in the form that the faults want.
func (o *output) text(text string) {
	raw := []byte(text)
	if o.faults.CRLF {
		raw = bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n"))
	}
	step := len(raw)
	if o.faults.SplitFrames {
		step = 3
	}
	for len(raw) > 0 {
		n := min(step, len(raw))
		o.w.Write(raw[:n]) // the client may be gone
		o.flush()
		raw = raw[n:]
	}
}

package record

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/url"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/wire"
	"github.com/reprise-sim/reprise/trace/experts"
)

// write writes a call that has ended into the journal.
func (c *call) write() {
	c.conclude()
	e := c.entry()
	found := c.returned(e)
	if !c.r.opts.Redact {
		e.Error = c.reply.Message
	}
	k := c.r.codes
	k.mu.Lock()
	if found.inputFrom != "" || found.outputFrom != "" {
		e.IDs = k.code(e.Who.Session, found)
	}
	if c.request != nil && len(c.request.Messages)+len(c.request.Prompt) > 0 {
		e.Talk = c.talk(k)
	}
	e.Experts = c.experts(e)
	if c.r.append(&journal.Entry{Call: e}, c.secrets...) {
		if e.IDs != nil {
			k.learn(e.Seq, e.Who.Session, found, e.IDs)
		}
		if e.Talk != nil && !c.r.opts.Redact {
			k.remember(e.Seq, e.Talk.Chain)
		}
	}
	k.mu.Unlock()
	c.tally(e, found)
	if e.Outcome == journal.Done && (found.inputFrom == "" || found.outputFrom == "") {
		c.r.ids.resolve(c, e.Who.Session, found, e.IDs)
	}
}

// entry is the call as far as it has neither ids nor text.
func (c *call) entry() *journal.Call {
	a := c.reply
	e := &journal.Call{
		Seq: c.seq, API: string(c.api), Who: c.who, Retry: c.retry, Model: a.Model,
		StartMs: c.startMs, EndMs: max(c.lastMs, c.startMs), Status: c.status,
		Response: a.ID, Finish: a.Finish, Input: a.PromptTokens, Output: a.OutputTokens, Cached: a.Cached,
		ChunkMs: a.ChunkMs, Metrics: a.Metrics,
	}
	if c.lastMs == 0 { // nothing came: it ended when the client went
		e.EndMs = c.r.now()
	}
	if ms := a.FirstMs(); !math.IsNaN(ms) {
		e.FirstMs = &ms
	}
	if len(a.OutputIDs) > 0 {
		e.ChunkIDs = a.ChunkIDs
	}
	e.Outcome, e.Reason = c.outcome()
	if q := c.request; q != nil {
		c.ask(e, q)
	}
	return e
}

// ask adds to an entry what the request says.
func (c *call) ask(e *journal.Call, q *wire.Request) {
	if q.Model != "" {
		e.Model = q.Model
	}
	e.Stream, e.Batched, e.Body = q.Stream, q.Batched, q.Digest
	if q.Choices != 1 {
		e.Choices = q.Choices
	}
	e.Who.Previous = q.Previous
	if e.Who.Session == "" && q.Session != "" {
		e.Who.Session, e.Who.From = q.Session, q.Field
	}
	e.Sampling = q.Sampling
	if c.r.opts.Redact {
		e.Sampling = wire.RedactSampling(q.Sampling)
	}
}

// outcome is what became of a call.
func (c *call) outcome() (outcome, reason string) {
	switch a := c.reply; {
	case c.fault.Load():
		return journal.Failed, "recorder_fault"
	case c.broken != "":
		return journal.Failed, c.broken
	case c.status >= http.StatusBadRequest:
		return journal.Failed, "status"
	case a.Failure != "":
		return journal.Failed, a.Failure
	case a.Ended:
		return journal.Done, ""
	case c.done && c.tooBig:
		return journal.Failed, "too_long"
	case c.done:
		return journal.Failed, "broken_off"
	}
	return journal.Cancelled, ""
}

// returned are the ids that came with the request and the answer, as far as the
// server's own counts agree with them (spec/live.md D.1).
func (c *call) returned(e *journal.Call) (found ids) {
	a := c.reply
	switch {
	case e.Batched:
		return found
	case a.PromptIDs != nil:
		found.input, found.inputFrom = a.PromptIDs, journal.FromServer
	case c.request != nil && c.request.IDs != nil:
		found.input, found.inputFrom = c.request.IDs, journal.FromClient
	}
	if a.HasIDs() {
		found.output, found.outputFrom = a.OutputIDs, journal.FromServer
	}
	if e.Input >= 0 && found.inputFrom != "" && len(found.input) != int(e.Input) {
		found.input, found.inputFrom = nil, ""
	}
	if e.Output >= 0 && e.Choices == 0 && found.outputFrom != "" && len(found.output) != int(e.Output) {
		found.output, found.outputFrom = nil, ""
	}
	return found
}

// talk is the conversation; its text only if it may be kept.
func (c *call) talk(k *codes) *journal.Talk {
	q := c.request
	t := &journal.Talk{Chain: q.Chain, Roles: q.Roles(), Next: q.After(c.reply), Answers: q.Answers()}
	for _, tool := range c.reply.Tools {
		call := journal.ToolCall{ID: tool.ID, Name: tool.Name, Ms: tool.Ms, Output: tool.Output}
		if !c.r.opts.Redact {
			call.Args = jsonText(tool.Args)
		}
		t.Tools = append(t.Tools, call)
	}
	if c.r.opts.Redact {
		return t
	}
	p := k.known(q.Chain)
	t.Base, t.Keep = p.seq, p.messages
	for _, m := range q.Messages[p.messages:] {
		t.Messages = append(t.Messages, m.Raw)
	}
	t.Offered, t.Prompt, t.Reply = q.Offered, q.Prompt, c.reply.ChatMessage()
	return t
}

// jsonText is a text as JSON: as it stands if it is some, else as a string.
func jsonText(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil // a string can always be quoted
	}
	return quoted
}

// experts stores the expert ids that the server returned beside the journal. Rows of
// positions that another call has computed are left out, but for the last: the output
// that a call ends with is computed by the call that goes on from it.
func (c *call) experts(e *journal.Call) *journal.Experts {
	if c.reply.Experts == "" {
		return nil
	}
	file, err := base64.StdEncoding.DecodeString(c.reply.Experts)
	if err != nil {
		return nil
	}
	t, err := experts.DecodeNPY(file)
	if err != nil {
		c.r.opts.Log("expert ids of a call are left out: " + err.Error())
		return nil
	}
	from := 0
	if e.IDs != nil && e.IDs.Base != 0 {
		from = min(max(0, int(e.IDs.Keep)-1), t.Rows)
	}
	own := t.Slice(from, t.Rows)
	packed := make([]byte, 0, 2*len(own.IDs))
	for _, id := range own.IDs {
		packed = binary.LittleEndian.AppendUint16(packed, id)
	}
	offset, ok := c.r.journal.Blob(packed)
	if !ok {
		return nil
	}
	return &journal.Experts{Offset: offset, From: int32(from), Rows: int32(own.Rows), Layers: int32(t.Layers), TopK: int32(t.TopK)}
}

// tally counts a call that has ended.
func (c *call) tally(e *journal.Call, found ids) {
	c.r.count(func(n *Counts) {
		n.Calls++
		switch e.Outcome {
		case journal.Failed:
			n.Failed++
		case journal.Cancelled:
			n.Cancelled++
		}
		if found.inputFrom != "" && found.outputFrom != "" {
			n.WithIDs++
		}
		n.PromptIDs += len(found.input)
		n.OutputIDs += len(found.output)
	})
}

// upstream is an address of the server.
func (r *Recorder) upstream(path string) *url.URL { return r.opts.Upstream.JoinPath(path) }

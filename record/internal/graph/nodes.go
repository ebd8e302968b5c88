package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// tasks makes the tasks of all items, in the order of their release.
func (b *builder) tasks() []*trace.Task {
	byFamily := map[*family][]*item{}
	var families []*family
	slices.SortFunc(b.items, func(a, b *item) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.placed, b.placed)) })
	for _, it := range b.items {
		if byFamily[it.family] == nil {
			families = append(families, it.family)
		}
		byFamily[it.family] = append(byFamily[it.family], it)
	}
	if len(b.items) == 0 {
		return nil
	}
	origin := b.items[0].start
	var tasks []*trace.Task
	for _, f := range families {
		if len(f.calls) == 0 {
			b.note("task %s has marks and no calls: it is left out", f.task)
			continue
		}
		tasks = append(tasks, b.task(f, byFamily[f], origin))
	}
	return tasks
}

// task makes a task of the items of a family. Times of the trace count from origin.
func (b *builder) task(f *family, items []*item, origin float64) *trace.Task {
	t := &trace.Task{ID: f.task, Nodes: make([]trace.Node, len(items))}
	release := items[0].start
	t.ReleaseMs = round(release - origin)
	turns := map[string]int32{}
	for i, it := range items {
		it.index = int32(i)
		n := &t.Nodes[i]
		*n = trace.Node{ID: it.id, Session: it.session, Name: it.name, Kind: it.kind, Extends: -1}
		for _, l := range it.after {
			n.After = append(n.After, trace.Edge{From: l.from.index, Trigger: l.trigger, AtOutput: l.atOutput, DelayMs: l.delayMs, Inferred: l.inferred})
		}
		if len(it.after) == 0 {
			n.NotBeforeMs = round(it.start - release)
		}
		n.Details = &trace.Details{
			Attempt: it.attempt, Args: it.args, Result: it.result,
			Recorded: &trace.Recorded{StartMs: round(it.start - origin), FirstTokenMs: math.NaN(), EndMs: round(it.end - origin)},
		}
		if it.kind != trace.LLM {
			n.DurationMs = round(it.end - it.start)
			continue
		}
		n.Turn = turns[it.session]
		turns[it.session]++
		b.fill(n, it, origin)
	}
	return t
}

// fill gives a node what only calls have.
func (b *builder) fill(n *trace.Node, it *item, origin float64) {
	c, d := it.call, n.Details
	n.Input, n.Output, n.InputTokens, n.OutputTokens = it.input, it.output, it.inputTokens, it.outputTokens
	if it.extends != nil {
		n.Extends, n.Keep = it.extends.index, it.keep
	}
	if it.input == nil {
		n.Keep = min(n.Keep, n.InputTokens)
	}
	if b.recording.Model == "" {
		d.Model = c.Model
	}
	d.Sampling = c.Sampling
	d.Finish = c.Finish
	if c.Outcome == journal.Cancelled {
		d.Finish = journal.Cancelled
	}
	if c.FirstMs != nil {
		d.Recorded.FirstTokenMs = round(*c.FirstMs - origin)
	}
	d.Recorded.IDs = sources(b.from(it))
	d.Messages = b.text(it)
}

// sources says in a word or two where ids are from.
func sources(input, output string) string {
	switch {
	case input == output || output == "":
		return input
	case input == "":
		return output
	}
	return input + "+" + output
}

// text is the conversation of a call as a trace keeps it beside the tokens: the
// messages that are new against those of another call and its reply, and the reply.
func (b *builder) text(it *item) json.RawMessage {
	t := it.call.Talk
	if t == nil || len(t.Messages) == 0 && t.Prompt == "" && t.Reply == nil {
		return nil
	}
	text := struct {
		API      string            `json:"api"`
		Extends  string            `json:"extends,omitempty"`
		Keep     int               `json:"keep,omitempty"`
		Messages []json.RawMessage `json:"messages,omitempty"`
		Prompt   string            `json:"prompt,omitempty"`
		Tools    json.RawMessage   `json:"tools,omitempty"`
		Reply    json.RawMessage   `json:"reply,omitempty"`
	}{API: it.call.API, Messages: t.Messages, Prompt: t.Prompt, Tools: t.Offered, Reply: t.Reply}
	if base := b.bySeq[t.Base]; base != nil && t.Keep > 0 {
		if base.id == "" {
			text.Messages = b.messages(it.call, len(b.all))
		} else {
			text.Extends, text.Keep = base.id, t.Keep
		}
	}
	raw, err := json.Marshal(text)
	if err != nil {
		b.note("the messages of %s are no JSON and are left out", it.id)
		return nil
	}
	return raw
}

// messages is all messages of a call, those that the journal has with other calls
// included; deep bounds the way through a broken journal.
func (b *builder) messages(c *journal.Call, deep int) []json.RawMessage {
	base := b.bySeq[c.Talk.Base]
	if c.Talk.Keep == 0 || base == nil || base.call.Talk == nil || deep == 0 {
		return c.Talk.Messages
	}
	before := b.messages(base.call, deep-1)
	return slices.Concat(before[:min(c.Talk.Keep, len(before))], c.Talk.Messages)
}

func inFlight(calls int) string {
	if calls == 1 {
		return "1 call was in flight at its end"
	}
	return fmt.Sprintf("%d calls were in flight at its end", calls)
}

// Incomplete says in words what is missing, one line each; nothing if all
// is well.
func (r *Recording) Incomplete() (why []string) {
	if r.Lost > 0 {
		why = append(why, fmt.Sprintf("%d entries could not be written: %s", r.Lost, r.Why))
	}
	if !r.Ended {
		why = append(why, "the recorder was stopped before it could end")
	}
	if r.InFlight > 0 {
		why = append(why, inFlight(r.InFlight))
	}
	if r.Torn > 1 || r.Torn > 0 && r.Ended {
		why = append(why, fmt.Sprintf("%d broken lines", r.Torn))
	}
	return why
}

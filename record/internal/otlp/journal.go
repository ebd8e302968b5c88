package otlp

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/wire"
)

// salt of digests: they are compared within one journal only, which is never kept.
const salt = 0

// Journal is what a recorder would have written, had it seen what the spans tell. Times
// count from the first inference, tool run or agent. If redacted, no text is in it.
// Spans about other things are counted in the journal's last entry.
func Journal(all []Span, redacted bool) *journal.Journal {
	mine, others := sorted(all)
	j := &journal.Journal{Start: journal.Start{Schema: journal.Schema, Version: journal.Version, Redacted: redacted}}
	if len(mine) == 0 {
		j.Entries = []journal.Entry{{End: &journal.End{Unrecorded: others}}}
		return j
	}
	w := writer{forest: plant(all), originNs: mine[0].StartNs, redacted: redacted, journal: j,
		askedBy: map[string]string{}, talks: map[uint64]talked{}, begun: map[string]bool{}, inside: map[*Span]bool{}}
	j.Start.Started = time.Unix(0, int64(min(w.originNs, math.MaxInt64))).UTC().Format(time.RFC3339Nano)
	for _, s := range mine {
		if s.isCall() {
			if agent := w.agentAbove(s, true); agent != nil {
				w.contains(agent)
			}
		}
	}
	for _, s := range mine {
		switch {
		case s.isCall():
			w.call(s)
		case s.isTool() && !w.inside[s]:
			w.tool(s)
		}
	}
	j.Entries = append(j.Entries, journal.Entry{End: &journal.End{Ms: w.ms(mine[len(mine)-1].EndNs), Unrecorded: others}})
	return j
}

// sorted is the spans about inferences, tools and agents by their starts, and how many
// others there are.
func sorted(all []Span) (mine []*Span, others int) {
	seen := map[string]bool{}
	for i := range all {
		s := &all[i]
		switch key := s.Trace + s.ID; {
		case !s.isCall() && !s.isTool() && !s.isAgent():
			others++
		case !seen[key]: // exporters that try again write spans twice
			seen[key] = true
			mine = append(mine, s)
		}
	}
	slices.SortStableFunc(mine, func(a, b *Span) int {
		return cmp.Or(cmp.Compare(a.StartNs, b.StartNs), cmp.Compare(b.EndNs, a.EndNs))
	})
	return mine, others
}

// writer is the work in hand.
type writer struct {
	forest
	journal  *journal.Journal
	originNs uint64
	redacted bool
	seq      int64
	askedBy  map[string]string // the call that asked for a tool call, by the tool call's id
	talks    map[uint64]talked // conversations, by their names
	begun    map[string]bool   // sessions of sub-agents
	inside   map[*Span]bool    // tool runs in which models are called
}

// talked is the first messages of a call.
type talked struct {
	seq      int64
	messages int
}

// ms is a time from the start.
func (w *writer) ms(ns uint64) float64 {
	return float64(ns-min(ns, w.originNs)) / 1e6
}

// contains notes the tool runs around calls: they are sub-agents, not tools.
func (w *writer) contains(s *Span) {
	for deep := len(w.forest); s != nil && deep > 0; deep-- {
		if s.isTool() {
			w.inside[s] = true
		}
		s = w.agentAbove(s, true)
	}
}

// spawn marks the beginning of a sub-agent's session.
func (w *writer) spawn(p place) {
	if p.sub == nil || w.begun[p.session] {
		return
	}
	w.begun[p.session] = true
	w.add(journal.Entry{Mark: &journal.Mark{Kind: journal.Spawn, Ms: w.ms(p.sub.StartNs), Session: p.session, Parent: p.parent}})
}

func (w *writer) add(e journal.Entry) { w.journal.Entries = append(w.journal.Entries, e) }

// call writes an inference.
func (w *writer) call(s *Span) {
	p := w.place(s)
	w.spawn(p)
	w.seq++
	q, a := s.request(salt), s.reply(w.ms(s.EndNs))
	c := &journal.Call{
		Seq: w.seq, API: string(wire.Chat), Model: cmp.Or(q.Model, a.Model), Stream: q.Stream,
		Who:     journal.Who{Task: p.task, Session: p.session, Parent: p.parent, From: p.from},
		StartMs: w.ms(s.StartNs), EndMs: w.ms(s.EndNs), Outcome: journal.Done, Response: cmp.Or(a.ID, s.ID), Finish: a.Finish,
		Input: a.PromptTokens, Output: a.OutputTokens, Cached: a.Cached, Sampling: q.Sampling,
	}
	if q.Choices != 1 {
		c.Choices = q.Choices
	}
	if first := s.number("gen_ai.response.time_to_first_chunk"); first >= 0 {
		ms := min(c.StartMs+float64(first*1000), c.EndMs)
		c.FirstMs = &ms
	}
	if why := s.text("error.type"); s.Failed || why != "" {
		c.Outcome, c.Reason = journal.Failed, cmp.Or(why, "status")
	}
	if w.redacted {
		c.Sampling = wire.RedactSampling(q.Sampling)
	}
	if len(q.Messages) > 0 {
		c.Body, c.Talk = q.Digest, w.talk(q, a)
	}
	for _, tool := range a.Tools {
		w.askedBy[p.task+"\n"+tool.ID] = c.Response
	}
	w.add(journal.Entry{Call: c})
}

// talk is a conversation, its messages against those of an earlier call.
func (w *writer) talk(q *wire.Request, a *wire.Reply) *journal.Talk {
	t := &journal.Talk{Chain: q.Chain, Roles: q.Roles(), Next: q.After(a), Answers: q.Answers()}
	for _, tool := range a.Tools {
		call := journal.ToolCall{ID: tool.ID, Name: tool.Name, Ms: tool.Ms}
		if !w.redacted {
			call.Args = jsonText(tool.Args)
		}
		t.Tools = append(t.Tools, call)
	}
	if w.redacted {
		return t
	}
	var known talked
	for i, name := range q.Chain {
		if before, ok := w.talks[name]; ok {
			known = before
		} else {
			w.talks[name] = talked{w.seq, i + 1}
		}
	}
	t.Base, t.Keep = known.seq, known.messages
	for _, m := range q.Messages[known.messages:] {
		t.Messages = append(t.Messages, m.Raw)
	}
	t.Offered, t.Reply = q.Offered, a.ChatMessage()
	return t
}

// tool writes a tool run as the marks of its start and its end.
func (w *writer) tool(s *Span) {
	p := w.place(s)
	w.spawn(p)
	id := cmp.Or(s.text("gen_ai.tool.call.id"), s.ID)
	start := &journal.Mark{Kind: journal.ToolStart, Ms: w.ms(s.StartNs), Tool: id, Name: s.text("gen_ai.tool.name"), Task: p.task, Session: p.session}
	if call := w.askedBy[p.task+"\n"+id]; call != "" {
		start.After = []string{call}
	}
	end := &journal.Mark{Kind: journal.ToolEnd, Ms: w.ms(s.EndNs), Tool: id}
	if !w.redacted {
		start.Args, end.Result = jsonText(s.text("gen_ai.tool.call.arguments")), jsonText(s.text("gen_ai.tool.call.result"))
	}
	w.add(journal.Entry{Mark: start})
	w.add(journal.Entry{Mark: end})
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

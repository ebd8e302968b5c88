package graph

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/trace"
)

// marks sorts the marks of the agent: tool runs become items, the others wait for the
// calls that they are about.
func (b *builder) marks() {
	for i := range b.journal.Entries {
		m := b.journal.Entries[i].Mark
		if m == nil {
			continue
		}
		switch m.Kind {
		case journal.Invocation:
			b.invoked[m.Call] = m
		case journal.Spawn:
			b.spawns[m.Session] = m
		case journal.Join:
			b.joins[m.Session] = append(b.joins[m.Session], m)
		case journal.ToolStart:
			b.toolStart(m)
		case journal.ToolEnd:
			b.toolEnd(m)
		}
	}
}

// toolStart begins a tool run.
func (b *builder) toolStart(m *journal.Mark) {
	session := m.Session
	if session == "" {
		session = m.Task
	}
	it := &item{kind: trace.Tool, id: m.Tool, name: m.Name, session: session, start: m.Ms, end: m.Ms, args: m.Args, mark: m, open: true}
	b.claim(it, m.Tool)
	b.tools = append(b.tools, it)
}

// toolEnd ends the run of that name that began last. Clocks of agents may go back.
func (b *builder) toolEnd(m *journal.Mark) {
	for _, it := range slices.Backward(b.tools) {
		if !it.ended && slices.Contains(b.names[m.Tool], it) {
			it.end, it.ended, it.result = max(it.start, m.Ms), true, m.Result
			return
		}
	}
	b.note("the mark tool_end of %q: no run of that name has begun", m.Tool)
}

// note remarks something, each only once.
func (b *builder) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(b.recording.Notes, s) {
		b.recording.Notes = append(b.recording.Notes, s)
	}
}

// stated makes a call wait for what the agent said that it waits for, and is whether
// it said anything.
func (b *builder) stated(it *item) bool {
	b.bringTools(it.start)
	names := b.who(it).After
	joins := b.joins[it.session]
	for len(joins) > 0 && joins[0].Ms <= it.start {
		names = append(names[:len(names):len(names)], joins[0].Of...)
		joins = joins[1:]
	}
	b.joins[it.session] = joins
	others := b.resolve(it, names)
	if len(others) == 0 {
		return false
	}
	it.evidence = Stated
	it.wait(false, others...)
	for _, l := range it.after {
		if l.from.call != nil {
			b.index.follows(l.from)
		}
	}
	return true
}

// resolve finds what names stand for: items, or sessions, which stand for their last
// item.
func (b *builder) resolve(it *item, names []string) (others []*item) {
	for _, name := range names {
		o := b.named(it, name)
		if o == nil {
			o = b.lastOf(it, name)
		}
		switch {
		case o == nil:
			b.note("%s waits for %q, which is not in the recording", it.id, name)
		case o.family != it.family:
			b.note("%s waits for %q, which is in another task", it.id, name)
		case !slices.Contains(others, o):
			others = append(others, o)
		}
	}
	return others
}

// named is the item of that name that began last before it did, in its family if
// there is one.
func (b *builder) named(it *item, name string) (found *item) {
	for _, o := range b.names[name] {
		if o == it || o.start > it.start || o.family == nil {
			continue
		}
		if found == nil || o.family == it.family || found.family != it.family {
			found = o
		}
	}
	return found
}

// lastOf is the last item of a session that had ended when it started.
func (b *builder) lastOf(it *item, session string) (found *item) {
	fam := b.families.bySession[session]
	if fam == nil {
		return nil
	}
	for _, o := range slices.Concat(fam.calls, fam.tools) {
		if o.session == session && o.end <= it.start && (found == nil || o.end >= found.end) {
			found = o
		}
	}
	return found
}

// bringTools places the tool runs that had begun at a time, and were placed by nobody
// yet.
func (b *builder) bringTools(at float64) {
	for _, it := range b.tools {
		if it.family == nil && it.start <= at {
			b.placeTool(it)
		}
	}
}

// placeTool finds the family of a tool run and what it waited for.
func (b *builder) placeTool(it *item) {
	m := it.mark
	if it.session == "" {
		if o := b.first(m.After); o != nil {
			it.session = o.session
		}
	}
	parent := ""
	if s := b.spawns[it.session]; s != nil {
		parent = s.Parent
	}
	if it.session == "" {
		it.session, it.family = b.families.unknown()
	} else {
		it.family = b.families.of(it.session, m.Task, parent)
	}
	it.family.tools = append(it.family.tools, it)
	if others := b.resolve(it, m.After); len(others) > 0 {
		it.wait(false, others...)
	} else if o := b.latestOrRunning(it); o != nil {
		it.wait(true, o)
	}
	b.put(it)
}

// first is the first item that one of names stands for.
func (b *builder) first(names []string) *item {
	for _, name := range names {
		for _, o := range b.names[name] {
			if o.family != nil {
				return o
			}
		}
	}
	return nil
}

// latestOrRunning is the call that a tool run without further notice belongs to: the
// last one of its session that had begun.
func (b *builder) latestOrRunning(it *item) (found *item) {
	for _, o := range it.family.calls {
		if o.session == it.session && o.start <= it.start {
			found = o
		}
	}
	return found
}

// spawnedBy is the item that started the session of a call, if it is the first call of
// it and the agent marked that.
func (b *builder) spawnedBy(it *item) *item {
	s := b.spawns[it.session]
	if s == nil || slices.ContainsFunc(it.family.calls, func(o *item) bool { return o.session == it.session }) {
		return nil
	}
	if others := b.resolve(it, s.After); len(others) > 0 {
		return others[0]
	}
	var found *item
	for _, o := range it.family.calls {
		if o.session == s.Parent && o.start <= s.Ms {
			found = o
		}
	}
	return found
}

// finishTools places the tool runs behind the last call. A run whose end nobody marked
// takes no time, since nobody knows how much it took.
func (b *builder) finishTools() {
	b.bringTools(math.Inf(1))
	for _, it := range b.tools {
		if !it.ended {
			b.note("the tool run %q has no end: it is taken as over at once", it.id)
		}
	}
}

// resultOf is the result of a tool call in a conversation, nil if it is not kept.
func resultOf(t *journal.Talk, id string) json.RawMessage {
	for _, m := range slices.Backward(t.Messages) {
		v := gjson.ParseBytes(m)
		switch {
		case v.Get("tool_call_id").Str == id:
			return json.RawMessage(v.Get("content").Raw)
		case v.Get("call_id").Str == id && v.Get("output").Exists():
			return json.RawMessage(v.Get("output").Raw)
		}
		var found json.RawMessage
		v.Get("content").ForEach(func(_, block gjson.Result) bool {
			if block.Get("tool_use_id").Str == id {
				found = json.RawMessage(block.Get("content").Raw)
			}
			return found == nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}

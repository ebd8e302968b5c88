package otlp

// place is where in its trace a span is.
type place struct {
	task, session, parent string
	from                  string // attribute that named the session
	sub                   *Span  // the span that began the session, nil if that is the task's own
}

// forest is spans by their ids.
type forest map[string]*Span

// plant makes a forest. Of two spans with the same id the first counts.
func plant(all []Span) forest {
	f := forest{}
	for i := range all {
		key := all[i].Trace + all[i].ID
		if f[key] == nil {
			f[key] = &all[i]
		}
	}
	return f
}

// above is the span that a span is inside of, nil if the file does not have it.
func (f forest) above(s *Span) *Span {
	if s.Parent == "" {
		return nil
	}
	return f[s.Trace+s.Parent]
}

// agentAbove is the innermost agent that a span is inside of, nil if there is none.
// If tools count, a tool run that calls models by itself is one as well.
func (f forest) agentAbove(s *Span, tools bool) *Span {
	for deep, up := len(f), f.above(s); up != nil && deep > 0; deep, up = deep-1, f.above(up) {
		if up.isAgent() || tools && up.isTool() {
			return up
		}
	}
	return nil
}

// place is the task and the session of a span. The task is the conversation that is
// named by the span or around it, else the trace. An agent inside another agent, or
// inside a tool run, is a sub-agent with a session of its own.
func (f forest) place(s *Span) place {
	p := place{task: s.Trace, from: "trace_id"}
	for deep, up := len(f), s; up != nil && deep >= 0; deep, up = deep-1, f.above(up) {
		if name := up.text("gen_ai.conversation.id"); name != "" {
			p.task, p.from = name, "gen_ai.conversation.id" // the outermost counts
		}
	}
	p.session, p.sub = f.session(f.agentAbove(s, s.isCall()), p.task, len(f))
	if p.sub != nil {
		p.parent, _ = f.session(f.agentAbove(p.sub, false), p.task, len(f))
		p.from = "invoke_agent"
	}
	return p
}

// session is the session of what an agent does, and the agent if it is a sub-agent;
// deep bounds the way up through broken spans.
func (f forest) session(agent *Span, task string, deep int) (string, *Span) {
	if agent == nil || deep == 0 {
		return task, nil
	}
	outer := f.agentAbove(agent, true)
	if outer == nil && agent.isAgent() {
		return task, nil
	}
	return task + "/" + agent.ID, agent
}

package serve

import (
	"net/http"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/token"
)

// call is what a request asks of the cluster, whatever it was written in.
type call struct {
	envelope
	id             string
	created        int64 // s since 1970
	prompt, output []uint32
	finish         string   // the reason why the answer ends
	stopped        *stopped // nil: at its length
	returnIDs      bool
	marks          bool // the text shows special tokens
}

// defaultMaxTokens is vLLM's length of an answer where the request has none and the
// endpoint is not that of chats.
const defaultMaxTokens = 16

// plan says how long an answer is and of which tokens it consists. open is for requests
// that may go on until the model stops.
func (s *Server) plan(c *call, q *sampling, force *forcing, open bool) *failure {
	if f := s.checkPrompt(c.prompt); f != nil {
		return f
	}
	if f := q.check(); f != nil {
		return f
	}
	c.returnIDs, c.marks = q.ReturnIDs, q.SkipSpecial != nil && !*q.SkipSpecial
	room := s.options.ContextTokens - len(c.prompt)
	n, finish := defaultMaxTokens, "length"
	switch {
	case q.MaxTokens != nil:
		n = *q.MaxTokens
	case open:
		n, finish = max(s.options.OutputTokens, q.MinTokens), "stop"
	}
	if n >= room {
		n, finish = room, "length"
	}
	forced, f := s.forcedNatively(q, len(c.prompt))
	if f == nil && forced == nil {
		forced, f = s.forcedByPlugin(force, q, len(c.prompt), n)
	}
	switch {
	case f != nil:
		return f
	case forced != nil:
		c.output, c.finish = forced, "length"
	default:
		c.output, c.finish = answerTo(c.prompt, n, s.words, s.options.Seed), finish
		s.stopping(c, q)
	}
	return nil
}

// checkPrompt refuses prompts that the model cannot take.
func (s *Server) checkPrompt(ids []uint32) *failure {
	if len(ids) == 0 {
		return refuse("prompt", "The decoder prompt cannot be empty")
	}
	for _, id := range ids {
		if s.unknown(int64(id)) {
			return refuse("prompt", "Token id %d is out of vocabulary", id)
		}
	}
	if most := s.options.ContextTokens; len(ids) >= most {
		return refuse("input_tokens", "This model's maximum context length is %d tokens. However, your request has %d input tokens. "+
			"Please reduce the length of the input messages.", most, len(ids))
	}
	return nil
}

// sessionHeader names the conversation of a request that does not say it itself.
const sessionHeader = "X-Session-Id"

// open fills in who the request is from, or refuses it.
func (s *Server) open(c *call, r *http.Request, prefix string) *failure {
	if c.Model != "" && c.Model != s.options.Model {
		return unknownModel(c.Model)
	}
	if c.Priority != 0 && !s.options.Priorities {
		return refuse("priority", "Got priority %d but priority scheduling is not enabled.", c.Priority)
	}
	if id := r.Header.Get("X-Request-Id"); id != "" {
		c.RequestID = id
	}
	if c.RequestID == "" {
		c.RequestID = s.nextID()
	}
	if c.SessionID == "" {
		c.SessionID = r.Header.Get(sessionHeader)
	}
	c.id = prefix + c.RequestID
	c.created = s.options.Now().Unix()
	return nil
}

// offer is the call as the cluster takes it.
func (c *call) offer() *simulate.Offer {
	return &simulate.Offer{
		Label:  metrics.Label{Request: c.id, Task: c.id, Session: c.SessionID},
		Prompt: token.IDs(salted(c.prompt, c.CacheSalt)), Output: token.IDs(salted(c.output, c.CacheSalt)),
		MaxTokens: int32(len(c.output)), Priority: c.Priority,
	}
}

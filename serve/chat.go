package serve

import "net/http"

// chatRequest is the body of /v1/chat/completions.
type chatRequest struct {
	envelope
	sampling
	conversation
	MaxCompletionTokens *int `json:"max_completion_tokens"`
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	c, f := &call{}, read(w, r, &q)
	c.envelope = q.envelope
	if q.MaxCompletionTokens != nil {
		q.MaxTokens = q.MaxCompletionTokens
	}
	if f == nil {
		f = s.open(c, r, "chatcmpl-")
	}
	if f == nil {
		c.prompt, f = s.converse(&q.conversation)
	}
	if f == nil {
		f = s.plan(c, &q.sampling, &q.Xargs, true)
	}
	if f != nil {
		reject(w, f, q.Stream)
		return
	}
	s.serve(w, r, c, chatDialect{s.options.Model})
}

// chatCompletion is an answer of /v1/chat/completions, or a chunk of one. Ids of the
// prompt stand at its root.
type chatCompletion struct {
	ID        string       `json:"id"`
	Object    string       `json:"object"`
	Created   int64        `json:"created"`
	Model     string       `json:"model"`
	Choices   []chatChoice `json:"choices"`
	Usage     *usage       `json:"usage,omitempty"`
	Metrics   *times       `json:"metrics,omitempty"`
	PromptIDs []uint32     `json:"prompt_token_ids,omitempty"`
}

type chatChoice struct {
	Index        int          `json:"index"`
	Message      *chatMessage `json:"message,omitempty"`
	Delta        *chatMessage `json:"delta,omitempty"`
	Logprobs     *string      `json:"logprobs"` // never any
	FinishReason *string      `json:"finish_reason"`
	StopReason   any          `json:"stop_reason"`
	TokenIDs     []uint32     `json:"token_ids,omitempty"`
}

type chatMessage struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatDialect struct{ model string }

func (d chatDialect) frame(c *call, object string, choices ...chatChoice) *chatCompletion {
	return &chatCompletion{ID: c.id, Object: object, Created: c.created, Model: d.model, Choices: choices}
}

const chatChunk = "chat.completion.chunk"

// begin tells the role, and the ids of the prompt.
func (d chatDialect) begin(c *call) any {
	nothing := ""
	f := d.frame(c, chatChunk, chatChoice{Delta: &chatMessage{"assistant", &nothing}})
	if c.returnIDs {
		f.PromptIDs = c.prompt
	}
	return f
}

func (d chatDialect) chunk(c *call, p *piece) any {
	choice := chatChoice{Delta: &chatMessage{Content: &p.text}, FinishReason: p.finish, StopReason: c.stopReason(p)}
	if c.returnIDs {
		choice.TokenIDs = p.ids
	}
	return d.frame(c, chatChunk, choice)
}

func (d chatDialect) bill(c *call, s *State) any {
	f := d.frame(c, chatChunk)
	f.Choices = []chatChoice{} // not null
	f.Usage, f.Metrics = c.usage(s), timesOf(s)
	return f
}

func (d chatDialect) whole(c *call, p *piece, s *State) any {
	choice := chatChoice{Message: &chatMessage{"assistant", &p.text}, FinishReason: p.finish, StopReason: c.stopReason(p)}
	f := d.frame(c, "chat.completion", choice)
	if c.returnIDs {
		f.Choices[0].TokenIDs, f.PromptIDs = p.ids, c.prompt
	}
	f.Usage, f.Metrics = c.usage(s), timesOf(s)
	return f
}

package serve

import (
	"encoding/json"
	"net/http"
)

// completionRequest is the body of /v1/completions.
type completionRequest struct {
	envelope
	sampling
	Prompt  prompt          `json:"prompt"`
	Special *bool           `json:"add_special_tokens"`
	Echo    bool            `json:"echo"`
	Suffix  json.RawMessage `json:"suffix"`
}

// prompt is text or token ids; a list of one prompt is that prompt.
type prompt struct {
	text *string
	ids  []int64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *prompt) UnmarshalJSON(raw []byte) error {
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil && len(several) == 1 && (several[0][0] == '[' || several[0][0] == '"') {
		raw = several[0]
	}
	var err error
	if raw[0] == '"' {
		p.text = new(string)
		err = json.Unmarshal(raw, p.text)
	} else {
		err = json.Unmarshal(raw, &p.ids)
	}
	if err != nil {
		return refuse("prompt", "prompt: want one prompt: a string or a list of token ids")
	}
	return nil
}

// encode is the ids of a prompt; special: with the tokens that the tokenizer adds.
func (s *Server) encode(p *prompt, special *bool) ([]uint32, *failure) {
	switch {
	case p.text != nil:
		ids, err := s.options.Tokenizer.Encode(*p.text, special == nil || *special)
		if err != nil {
			return nil, refuse("prompt", "prompt: %v", err)
		}
		return ids, nil
	case p.ids == nil:
		return nil, refuse("prompt", "prompt is required")
	}
	return s.legal(p.ids)
}

// legal is token ids from a request, if they are in the vocabulary.
func (s *Server) legal(ids []int64) ([]uint32, *failure) {
	for _, id := range ids {
		if s.unknown(id) {
			return nil, refuse("prompt", "Token id %d is out of vocabulary", id)
		}
	}
	return narrow(ids), nil
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	var q completionRequest
	c, f := &call{}, read(w, r, &q)
	c.envelope = q.envelope
	if f == nil {
		f = s.open(c, r, "cmpl-")
	}
	if f == nil && (q.Echo || given(q.Suffix)) {
		f = refuse("", "echo and suffix are not supported")
	}
	if f == nil {
		c.prompt, f = s.encode(&q.Prompt, q.Special)
	}
	if f == nil {
		f = s.plan(c, &q.sampling, &q.Xargs, false)
	}
	if f != nil {
		reject(w, f, q.Stream)
		return
	}
	s.serve(w, r, c, completionDialect{s.options.Model})
}

// completion is an answer of /v1/completions, or a chunk of one.
type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   *usage             `json:"usage,omitempty"`
	Metrics *times             `json:"metrics,omitempty"`
}

type completionChoice struct {
	Index        int      `json:"index"`
	Text         string   `json:"text"`
	Logprobs     *string  `json:"logprobs"` // never any
	FinishReason *string  `json:"finish_reason"`
	StopReason   any      `json:"stop_reason"`
	PromptIDs    []uint32 `json:"prompt_token_ids,omitempty"`
	TokenIDs     []uint32 `json:"token_ids,omitempty"`
}

type completionDialect struct{ model string }

func (d completionDialect) frame(c *call, choices ...completionChoice) *completion {
	return &completion{ID: c.id, Object: "text_completion", Created: c.created, Model: d.model, Choices: choices}
}

func (completionDialect) begin(*call) any { return nil }

func (d completionDialect) chunk(c *call, p *piece) any {
	choice := completionChoice{Text: p.text, FinishReason: p.finish, StopReason: c.stopReason(p)}
	if c.returnIDs {
		choice.TokenIDs = p.ids
		if p.first {
			choice.PromptIDs = c.prompt
		}
	}
	return d.frame(c, choice)
}

func (d completionDialect) bill(c *call, s *State) any {
	f := d.frame(c)
	f.Choices = []completionChoice{} // not null
	f.Usage, f.Metrics = c.usage(s), timesOf(s)
	return f
}

func (d completionDialect) whole(c *call, p *piece, s *State) any {
	f := d.chunk(c, p).(*completion)
	f.Usage, f.Metrics = c.usage(s), timesOf(s)
	return f
}

package serve

import "net/http"

// generateRequest is the body of /inference/v1/generate (spec/live.md A.2).
type generateRequest struct {
	envelope
	TokenIDs   []int64   `json:"token_ids"`
	Sampling   *sampling `json:"sampling_params"`
	ReturnIDs  bool      `json:"return_token_ids"`
	OutputMode string    `json:"output_mode"`
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	var q generateRequest
	c, f := &call{}, read(w, r, &q)
	c.envelope = q.envelope
	if f == nil {
		f = s.open(c, r, "generate-tokens-")
	}
	switch {
	case f != nil:
	case q.Sampling == nil:
		f = refuse("sampling_params", "sampling_params is required")
	case q.OutputMode != "" && q.OutputMode != "tokens":
		f = refuse("output_mode", "output_mode: %s: want tokens", q.OutputMode)
	}
	if f == nil {
		c.prompt, f = s.legal(q.TokenIDs)
	}
	if f == nil {
		f = s.plan(c, q.Sampling, &q.Sampling.ExtraArgs, false)
		c.returnIDs = q.ReturnIDs
	}
	if f != nil {
		reject(w, f, q.Stream)
		return
	}
	s.serve(w, r, c, generateDialect{})
}

// generated is an answer of /inference/v1/generate, or a chunk of one.
type generated struct {
	RequestID string            `json:"request_id"`
	Choices   []generatedChoice `json:"choices"`
	PromptIDs []uint32          `json:"prompt_token_ids,omitempty"`
	Usage     *usage            `json:"usage,omitempty"`
	Metrics   *times            `json:"metrics,omitempty"`
}

type generatedChoice struct {
	Index        int      `json:"index"`
	Logprobs     *string  `json:"logprobs"` // never any
	FinishReason *string  `json:"finish_reason"`
	TokenIDs     []uint32 `json:"token_ids"`
}

type generateDialect struct{}

func (generateDialect) begin(*call) any { return nil }

func (generateDialect) chunk(c *call, p *piece) any {
	f := &generated{RequestID: c.id, Choices: []generatedChoice{{FinishReason: p.finish, TokenIDs: p.ids}}}
	if c.returnIDs && p.first {
		f.PromptIDs = c.prompt
	}
	return f
}

func (generateDialect) bill(c *call, s *State) any {
	return &generated{RequestID: c.id, Choices: []generatedChoice{}, Usage: c.usage(s), Metrics: timesOf(s)}
}

func (d generateDialect) whole(c *call, p *piece, s *State) any {
	f := d.chunk(c, p).(*generated)
	f.Usage, f.Metrics = c.usage(s), timesOf(s)
	return f
}

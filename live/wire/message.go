package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/reprise-sim/reprise/metrics"
)

// message is one JSON object of an answer: the whole answer or a piece of a stream,
// of any of the APIs (spec/live.md A.2, A.3; spec/vllm-cpu-live.md 7).
type message struct {
	Choices []choice      `json:"choices"`
	Usage   *Usage        `json:"usage"`
	Metrics *ServerTimes  `json:"metrics"`
	Error   *serverError  `json:"error"`
	Object  string        `json:"object"`  // "error" where the error is the object itself
	Message string        `json:"message"` // of such an error
	Code    flexibleCode  `json:"code"`
	Type    string        `json:"type"`
	Detail  errorFallback `json:"detail"` // as some gateways answer
}

// choice is a piece of one of the outputs.
type choice struct {
	Index         int     `json:"index"`
	TokenIDs      []int32 `json:"token_ids"`
	Text          string  `json:"text"`
	Delta         delta   `json:"delta"`
	Message       delta   `json:"message"`
	FinishReason  string  `json:"finish_reason"`
	RoutedExperts string  `json:"routed_experts"`
}

// delta is text in the form of chats.
type delta struct {
	Content   string          `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// hasText is whether a choice brings text, of which the ids may be unknown.
func (c *choice) hasText() bool { return c.Text != "" || c.Delta.hasText() || c.Message.hasText() }

func (d *delta) hasText() bool {
	return d.Content != "" || d.Reasoning != "" || len(d.ToolCalls) > len("null")
}

// Usage is what a server says it has read and written.
type Usage struct {
	PromptTokens     int32          `json:"prompt_tokens"`
	CompletionTokens int32          `json:"completion_tokens"`
	Details          *promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	CachedTokens *int32 `json:"cached_tokens"`
}

// Cached is how many tokens of the prompt came from a cache; false if the server does
// not say.
func (u *Usage) Cached() (int32, bool) {
	if u == nil || u.Details == nil || u.Details.CachedTokens == nil {
		return 0, false
	}
	return *u.Details.CachedTokens, true
}

// ServerTimes is what a server says of one call, in ms (spec/live.md A.9).
type ServerTimes struct {
	QueueMs    *float64 `json:"queue_time_ms,omitempty"`          // before its scheduler took it
	PrefillMs  *float64 `json:"time_to_first_token_ms,omitempty"` // from then to the first token
	DecodeMs   *float64 `json:"generation_time_ms,omitempty"`     // from there to the last
	MeanITLMs  *float64 `json:"mean_itl_ms,omitempty"`
	TokensPerS *float64 `json:"tokens_per_second,omitempty"`
}

// serverError is an error object; some servers answer with a text instead.
type serverError struct {
	Message string
	Type    string
	Code    flexibleCode
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *serverError) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &e.Message)
	}
	var object struct {
		Message string       `json:"message"`
		Type    string       `json:"type"`
		Code    flexibleCode `json:"code"`
	}
	err := json.Unmarshal(b, &object)
	*e = serverError(object)
	return err
}

// flexibleCode is a status as a number or as text, 0 if it is neither.
type flexibleCode int

// UnmarshalJSON implements [json.Unmarshaler].
func (c *flexibleCode) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(bytes.Trim(b, `"`)))
	if err != nil {
		n = 0
	}
	*c = flexibleCode(n)
	return nil
}

// errorFallback is a text or anything else as it stands.
type errorFallback string

// UnmarshalJSON implements [json.Unmarshaler].
func (f *errorFallback) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*f = errorFallback(text)
	return nil
}

// parse reads one object.
func parse(text []byte) (*message, error) {
	m := &message{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%w in %s", err, excerpt(text))
	}
	return m, nil
}

// failure is the error that a message carries, nil if it carries none. status is the
// HTTP status, which counts unless the message names another one.
func (m *message) failure(status int) *Failure {
	e := m.Error
	if e == nil && m.Object == "error" {
		e = &serverError{m.Message, m.Type, m.Code}
	}
	if e == nil {
		return nil
	}
	if e.Code >= 400 {
		status = int(e.Code)
	}
	text := e.Message
	if text == "" {
		text = e.Type
	}
	return statusFailure(status, text)
}

// statusFailure is the failure of a status: what the server will not do and what it
// could not do.
func statusFailure(status int, text string) *Failure {
	f := &Failure{Kind: metrics.ServerError, Status: status, Detail: text}
	if status >= 400 && status < 500 {
		f.Kind = metrics.ServerRefused
	}
	if f.Detail == "" {
		f.Detail = "no reason given"
	}
	return f
}

// excerpt is the beginning of a text, for messages.
func excerpt(text []byte) string {
	const most = 200
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

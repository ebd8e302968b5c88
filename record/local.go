package record

import (
	"encoding/json"

	"github.com/reprise-sim/reprise/tokenize"
)

// localTokens answers a request to /tokenize as far as a local tokenizer can, nil if it
// cannot.
func localTokens(m *tokenize.Model, body []byte) []uint32 {
	q := struct {
		Prompt    *string         `json:"prompt"`
		Messages  json.RawMessage `json:"messages"`
		Tools     json.RawMessage `json:"tools"`
		Template  string          `json:"chat_template"`
		Arguments json.RawMessage `json:"chat_template_kwargs"`
		Special   *bool           `json:"add_special_tokens"`
		Generate  *bool           `json:"add_generation_prompt"`
		Continue  bool            `json:"continue_final_message"`
	}{}
	if json.Unmarshal(body, &q) != nil || q.Template != "" || q.Continue {
		return nil
	}
	var ids []uint32
	var err error
	if q.Prompt != nil {
		ids, err = m.Encode(*q.Prompt, q.Special == nil || *q.Special)
	} else {
		ids, err = m.Chat(q.Messages, q.Tools, q.Arguments, q.Generate == nil || *q.Generate)
	}
	if err != nil {
		return nil
	}
	return ids
}

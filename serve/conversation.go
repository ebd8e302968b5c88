package serve

import (
	"encoding/json"
	"strings"
)

// conversation are the fields of a request that its prompt is written from.
type conversation struct {
	Messages  []message       `json:"messages"`
	Tools     json.RawMessage `json:"tools"`
	Template  json.RawMessage `json:"chat_template"`
	Arguments json.RawMessage `json:"chat_template_kwargs"`
	Special   *bool           `json:"add_special_tokens"`
	Generate  *bool           `json:"add_generation_prompt"`
	Continue  bool            `json:"continue_final_message"`
}

// message is a message as templates read it: its content is text, the arguments of tool
// calls are objects, as vLLM makes them.
type message map[string]json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (m *message) UnmarshalJSON(raw []byte) error {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return refuse("messages", "messages: want objects")
	}
	var role string
	if json.Unmarshal(members["role"], &role) != nil || role == "" {
		return refuse("messages", "messages: role: want a name")
	}
	text, f := contentOf(members["content"])
	if f != nil {
		return f
	}
	members["content"] = quote(text)
	if calls := members["tool_calls"]; given(calls) {
		members["tool_calls"] = withObjects(calls)
	}
	*m = members
	return nil
}

// contentOf is the text of a message: of a string, a list of parts (each on a line, as
// vLLM joins them), or nothing.
func contentOf(raw json.RawMessage) (string, *failure) {
	if !given(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", refuse("messages", "messages: content: want a string or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return "", refuse("messages", "messages: content: a part of type %s: want text", p.Type)
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// withObjects is calls of tools with the arguments that are a text of JSON as this JSON.
// What has another shape stays as it is.
func withObjects(calls json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(calls, &list) != nil {
		return calls
	}
	for _, call := range list {
		var function map[string]json.RawMessage
		var arguments string
		var object map[string]json.RawMessage
		if json.Unmarshal(call["function"], &function) != nil || json.Unmarshal(function["arguments"], &arguments) != nil ||
			json.Unmarshal([]byte(arguments), &object) != nil {
			continue
		}
		function["arguments"] = json.RawMessage(arguments)
		call["function"] = marshal(function)
	}
	return marshal(list)
}

// converse is the prompt of a conversation.
func (s *Server) converse(q *conversation) ([]uint32, *failure) {
	generate := q.Generate == nil || *q.Generate
	switch {
	case len(q.Messages) == 0:
		return nil, refuse("messages", "messages: want at least one message")
	case given(q.Template):
		return nil, refuse("chat_template", "chat_template: this server has the template of its tokenizer only")
	case q.Continue:
		return nil, refuse("continue_final_message", "continue_final_message is not supported")
	case q.Special != nil && *q.Special:
		return nil, refuse("add_special_tokens", "add_special_tokens is not supported for messages: the template has them")
	}
	tools := q.Tools
	if !given(tools) {
		tools = nil
	}
	ids, err := s.options.Tokenizer.Chat(marshal(q.Messages), tools, q.Arguments, generate)
	if err != nil {
		return nil, refuse("messages", "messages: %v", err)
	}
	return ids, nil
}

// marshal is a value of which it is known that JSON can say it, without a change to
// what texts hold.
func marshal(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts and JSON that was read
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// quote is a text as JSON.
func quote(text string) json.RawMessage { return marshal(text) }

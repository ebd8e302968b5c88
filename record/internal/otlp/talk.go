package otlp

import (
	"encoding/json"
	"math"

	"github.com/tidwall/gjson"

	"github.com/reprise-sim/reprise/record/internal/wire"
)

// object is a JSON object to be written.
type object = map[string]any

// request is the chat request that a span tells of. Whether spans hold messages is the
// instrumentation's choice.
func (s *Span) request(salt uint64) *wire.Request {
	body := object{"model": s.text("gen_ai.request.model", "gen_ai.response.model")}
	if messages := s.messages(); len(messages) > 0 {
		body["messages"] = messages
	}
	for field, name := range map[string]string{
		"max_tokens": "gen_ai.request.max_tokens", "temperature": "gen_ai.request.temperature", "top_p": "gen_ai.request.top_p",
		"top_k": "gen_ai.request.top_k", "seed": "gen_ai.request.seed", "n": "gen_ai.request.choice.count",
		"frequency_penalty": "gen_ai.request.frequency_penalty", "presence_penalty": "gen_ai.request.presence_penalty",
		"stop": "gen_ai.request.stop_sequences", "stream": "gen_ai.request.stream",
	} {
		if v, ok := s.attributes.Get(name); ok {
			body[field] = v.AsRaw()
		}
	}
	if tools := s.text("gen_ai.tool.definitions"); gjson.Valid(tools) {
		body["tools"] = json.RawMessage(tools)
	}
	return wire.ParseRequest(wire.Chat, encode(body), salt)
}

// reply is the answer that a span tells of. It came at ms.
func (s *Span) reply(ms float64) *wire.Reply {
	message := object{"role": "assistant"}
	for _, m := range said(s.text("gen_ai.output.messages")) {
		message = m
		break // of several choices the trace has the first
	}
	usage := object{}
	for field, n := range map[string]float64{
		"prompt_tokens":     s.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
		"completion_tokens": s.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
	} {
		if !math.IsNaN(n) && !math.IsInf(n, 0) {
			usage[field] = n
		}
	}
	if n := s.number("gen_ai.usage.cache_read.input_tokens"); !math.IsNaN(n) && !math.IsInf(n, 0) {
		usage["prompt_tokens_details"] = object{"cached_tokens": n}
	}
	a := wire.NewReply(wire.Chat)
	a.Whole(encode(object{
		"id": s.text("gen_ai.response.id"), "model": s.text("gen_ai.response.model"), "usage": usage,
		"choices": []object{{"message": message, "finish_reason": gjson.Get(s.text("gen_ai.response.finish_reasons"), "0").Str}},
	}), ms)
	return a
}

// messages is the conversation as chat messages, the system prompt first.
func (s *Span) messages() []object {
	list := said(s.text("gen_ai.input.messages"))
	if system := gjson.Parse(s.text("gen_ai.system_instructions")); system.IsArray() {
		list = append([]object{{"role": "system", "content": content(system)}}, list...)
	}
	return list
}

// said turns messages of the conventions, a role and parts, into chat messages. Each
// tool result is a message of its own there.
func said(text string) (list []object) {
	if !gjson.Valid(text) {
		return nil
	}
	for _, m := range gjson.Parse(text).Array() {
		parts, role := m.Get("parts"), m.Get("role").Str
		message := object{"role": role}
		results := parts.Get(`#(type=="tool_call_response")`).Exists()
		if text := content(parts); text != "" || !results {
			message["content"] = text
			list = append(list, message)
		}
		var calls []object
		for _, p := range parts.Array() {
			switch p.Get("type").Str {
			case "tool_call":
				calls = append(calls, object{"id": p.Get("id").String(), "type": "function", "function": object{
					"name": p.Get("name").Str, "arguments": p.Get("arguments").String(),
				}})
			case "tool_call_response":
				result := p.Get("result")
				if !result.Exists() {
					result = p.Get("response")
				}
				list = append(list, object{"role": "tool", "tool_call_id": p.Get("id").String(), "content": result.String()})
			case "reasoning":
				message["reasoning"] = p.Get("content").String()
			}
		}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
	}
	return list
}

// content is the content of a chat message: its text, or a list if there is something
// else than text, such as pictures.
func content(parts gjson.Result) any {
	text, others := "", []any{}
	for _, p := range parts.Array() {
		switch p.Get("type").Str {
		case "text":
			text += p.Get("content").String()
		case "tool_call", "tool_call_response", "reasoning":
		default:
			others = append(others, p.Value())
		}
	}
	if len(others) > 0 {
		return append([]any{object{"type": "text", "text": text}}, others...)
	}
	return text
}

// encode writes JSON with its members in order of their names.
func encode(v object) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // a number that JSON does not have: the body is no JSON, and says nothing
	}
	return text
}

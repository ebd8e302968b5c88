package wire

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// tokenizeFields are the members of a chat request that decide on its tokens; vLLM's
// /tokenize has the same (spec/live.md A.10).
var tokenizeFields = []string{"model", "tools", "chat_template", "chat_template_kwargs", "add_special_tokens"}

// TokenizePrompt is the body of a request to /tokenize for the prompt of a call, nil if
// it cannot be said there: pictures, files and items of unknown kinds.
func TokenizePrompt(api API, body []byte) []byte { return tokenize(api, body, nil) }

// TokenizeWhole is the same for the prompt with an answer behind it, nil if the API has
// no conversations.
func TokenizeWhole(api API, body []byte, reply json.RawMessage) []byte {
	if api == Completions || api == Generate {
		return nil
	}
	return tokenize(api, body, reply)
}

// TokenizeText is the body of a request for the tokens of a text that the model wrote.
func TokenizeText(model, text string) []byte {
	return marshal(map[string]any{"model": model, "prompt": text, "add_special_tokens": false})
}

func tokenize(api API, body []byte, reply json.RawMessage) []byte {
	root := gjson.ParseBytes(body)
	fields := map[string]any{}
	for _, name := range tokenizeFields {
		if v := root.Get(name); v.Exists() && v.Type != gjson.Null {
			fields[name] = raw(v)
		}
	}
	if api == Completions {
		prompt := root.Get("prompt")
		if prompt.IsArray() && len(prompt.Array()) == 1 {
			prompt = prompt.Array()[0]
		}
		if prompt.Type != gjson.String {
			return nil
		}
		fields["prompt"] = prompt.Str
		return marshal(fields)
	}
	messages, tools, ok := asChat(api, root)
	if !ok || len(messages) == 0 {
		return nil
	}
	if tools != nil {
		fields["tools"] = tools
	}
	for _, name := range []string{"add_generation_prompt", "continue_final_message"} {
		if v := root.Get(name); v.Exists() && reply == nil {
			fields[name] = raw(v)
		}
	}
	if reply != nil {
		messages = append(messages, reply)
		fields["add_generation_prompt"] = false
	}
	fields["messages"] = messages
	return marshal(fields)
}

// marshal is v as JSON.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // a member that is no JSON cannot be said
	}
	return text
}

// asChat is the conversation of a request as chat messages, and the tools if the API
// describes them in another way; ok is whether all of it can be said so.
func asChat(api API, root gjson.Result) (messages []json.RawMessage, tools any, ok bool) {
	switch api {
	case Chat:
		for _, m := range root.Get("messages").Array() {
			messages = append(messages, raw(m))
		}
		return messages, nil, true
	case Messages:
		messages, ok = anthropicAsChat(root)
		return messages, asFunctions(root.Get("tools"), "input_schema"), ok
	case Responses:
		messages, ok = responsesAsChat(root)
		return messages, asFunctions(root.Get("tools"), "parameters"), ok
	}
	return nil, nil, false
}

// asFunctions is tools as chat describes them; schema is where their parameters are.
func asFunctions(tools gjson.Result, schema string) any {
	var list []any
	for _, t := range tools.Array() {
		f := map[string]any{"name": t.Get("name").Str}
		if d := t.Get("description"); d.Exists() {
			f["description"] = d.Str
		}
		if p := t.Get(schema); p.Exists() {
			f["parameters"] = raw(p)
		}
		list = append(list, map[string]any{"type": "function", "function": f})
	}
	if list == nil {
		return nil
	}
	return list
}

// chatText is a chat message of text.
func chatText(role, text string) json.RawMessage {
	return marshal(map[string]string{"role": role, "content": text})
}

// anthropicAsChat puts a conversation of Anthropic's API into chat messages.
func anthropicAsChat(root gjson.Result) (messages []json.RawMessage, ok bool) {
	if system := root.Get("system"); system.Exists() {
		messages = append(messages, chatText("system", textOf(system)))
	}
	for _, m := range root.Get("messages").Array() {
		content := m.Get("content")
		if content.Type == gjson.String {
			messages = append(messages, chatText(m.Get("role").Str, content.Str))
			continue
		}
		var text []string
		var calls []any
		for _, b := range content.Array() {
			switch b.Get("type").Str {
			case "text":
				text = append(text, b.Get("text").Str)
			case "thinking", "redacted_thinking":
			case "tool_use":
				calls = append(calls, functionCall(b.Get("id").Str, b.Get("name").Str, b.Get("input").Raw))
			case "tool_result":
				messages = append(messages, toolResult(b.Get("tool_use_id").Str, textOf(b.Get("content"))))
			default:
				return nil, false
			}
		}
		if text != nil || calls != nil {
			messages = append(messages, chatMessageOf(m.Get("role").Str, strings.Join(text, ""), calls))
		}
	}
	return messages, true
}

// responsesAsChat puts the input of a response into chat messages. What the server
// remembers of another response cannot be said.
func responsesAsChat(root gjson.Result) (messages []json.RawMessage, ok bool) {
	if root.Get("previous_response_id").Str != "" {
		return nil, false
	}
	if i := root.Get("instructions"); i.Type == gjson.String {
		messages = append(messages, chatText("system", i.Str))
	}
	input := root.Get("input")
	if input.Type == gjson.String {
		return append(messages, chatText("user", input.Str)), true
	}
	for _, item := range input.Array() {
		switch item.Get("type").Str {
		case "", "message":
			messages = append(messages, chatText(item.Get("role").Str, textOf(item.Get("content"))))
		case "function_call":
			call := functionCall(item.Get("call_id").Str, item.Get("name").Str, item.Get("arguments").Str)
			messages = append(messages, chatMessageOf("assistant", "", []any{call}))
		case "function_call_output":
			messages = append(messages, toolResult(item.Get("call_id").Str, textOf(item.Get("output"))))
		default:
			return nil, false
		}
	}
	return messages, true
}

func functionCall(id, name, args string) any {
	return map[string]any{"id": id, "type": "function", "function": map[string]string{"name": name, "arguments": args}}
}

func toolResult(id, text string) json.RawMessage {
	return marshal(map[string]string{"role": "tool", "tool_call_id": id, "content": text})
}

func chatMessageOf(role, text string, calls []any) json.RawMessage {
	m := map[string]any{"role": role, "content": text}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return marshal(m)
}

// Tokens are the ids in an answer of /tokenize, nil if there are none.
func Tokens(answer []byte) []uint32 {
	v := gjson.GetBytes(answer, "tokens")
	if !gjson.ValidBytes(answer) || !v.IsArray() {
		return nil
	}
	return appendIDs([]uint32{}, v.Raw)
}

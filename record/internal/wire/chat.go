package wire

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// chat is OpenAI's chat completions API with vLLM's fields (spec/vllm-cpu-live.md 7).
var chat = dialect{
	path: "/v1/chat/completions",
	request: func(body gjson.Result, r *Request) {
		body.Get("messages").ForEach(func(_, m gjson.Result) bool {
			r.add(chatMessage(m, r.salt))
			return true
		})
		r.Offered = withoutSecrets(body.Get("tools"))
	},
	whole: func(body gjson.Result, a *Reply) { chatPiece(body, "message", a) },
	event: func(_ string, data gjson.Result, a *Reply) { chatPiece(data, "delta", a) },
}

var chatRoles = map[string]byte{"system": System, "developer": System, "assistant": Assistant, "tool": Tool, "function": Tool}

// chatMessage reads a message of a conversation.
func chatMessage(v gjson.Result, salt uint64) Message {
	m := Message{Role: User, Raw: raw(v)}
	if role, ok := chatRoles[v.Get("role").Str]; ok {
		m.Role = role
	}
	switch m.Role {
	case Assistant:
		var ids []string
		v.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
			ids = append(ids, c.Get("id").Str)
			return true
		})
		m.digest = saidDigest(textOf(v.Get("content")), ids, salt)
		return m
	case Tool:
		m.answer(v.Get("tool_call_id"), v.Get("content"))
	}
	m.digest = heardDigest(m.Role, v, salt)
	return m
}

// answer notes the result of a tool call.
func (m *Message) answer(id, result gjson.Result) {
	if id.Type != gjson.String || id.Str == "" {
		return
	}
	m.Answers = append(m.Answers, id.Str)
	if m.Results == nil {
		m.Results = map[string]json.RawMessage{}
	}
	m.Results[id.Str] = raw(result)
}

// textOf is the text of a content: a string or a list of parts.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	text := ""
	content.ForEach(func(_, p gjson.Result) bool {
		if t := p.Get("text"); t.Type == gjson.String && p.Get("type").Str != "thinking" {
			text += t.Str
		}
		return true
	})
	return text
}

// chatPiece reads an answer or an event of one; member is where its content is.
func chatPiece(body gjson.Result, member string, a *Reply) {
	a.head(body)
	a.openAIUsage(body.Get("usage"))
	a.promptIDs(body.Get("prompt_token_ids"))
	choice := firstChoice(body)
	if !choice.Exists() {
		return
	}
	a.choiceIDs(choice)
	content := choice.Get(member)
	a.say(content.Get("content"))
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if v := content.Get(name); v.Type == gjson.String {
			a.think(v)
			break
		}
	}
	next := int64(0)
	content.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
		if i := c.Get("index"); i.Exists() {
			next = i.Int()
		}
		a.tool(next, c.Get("id"), c.Get("function.name"), c.Get("function.arguments"))
		next++
		return true
	})
	keep(&a.Finish, choice.Get("finish_reason"))
}

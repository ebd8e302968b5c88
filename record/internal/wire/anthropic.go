package wire

import (
	"strings"

	"github.com/tidwall/gjson"
)

// anthropic is Anthropic's messages API, also as vLLM serves it.
var anthropic = dialect{
	path: "/v1/messages",
	request: func(body gjson.Result, r *Request) {
		if system := body.Get("system"); system.Exists() && system.Type != gjson.Null {
			r.add(Message{Role: System, Raw: raw(system), digest: heardDigest(System, system, r.salt)})
		}
		body.Get("messages").ForEach(func(_, m gjson.Result) bool {
			r.add(anthropicMessage(m, r.salt))
			return true
		})
		r.Offered = withoutSecrets(body.Get("tools"))
		if id, ok := sessionOf(body.Get("metadata.user_id").Str); ok && r.Session == "" {
			r.Session, r.Field = id, "metadata.user_id"
		}
	},
	whole: func(body gjson.Result, a *Reply) {
		a.head(body)
		a.anthropicUsage(body.Get("usage"))
		index := int64(0)
		body.Get("content").ForEach(func(_, block gjson.Result) bool {
			a.block(index, block)
			index++
			return true
		})
		keep(&a.Finish, body.Get("stop_reason"))
	},
	event: anthropicEvent,
}

// anthropicMessage reads a message of a conversation.
func anthropicMessage(v gjson.Result, salt uint64) Message {
	m := Message{Role: User, Raw: raw(v)}
	content := v.Get("content")
	if v.Get("role").Str == "assistant" {
		m.Role = Assistant
		var ids []string
		content.ForEach(func(_, b gjson.Result) bool {
			if b.Get("type").Str == "tool_use" {
				ids = append(ids, b.Get("id").Str)
			}
			return true
		})
		m.digest = saidDigest(textOf(content), ids, salt)
		return m
	}
	if content.IsArray() {
		content.ForEach(func(_, b gjson.Result) bool {
			if b.Get("type").Str == "tool_result" {
				m.Role = Tool
				m.answer(b.Get("tool_use_id"), b.Get("content"))
			}
			return true
		})
	}
	m.digest = heardDigest(m.Role, v, salt)
	return m
}

// sessionOf is the session in the id that Claude Code sends: either a text
// "user_…_session_<id>" or a JSON object with session_id.
func sessionOf(user string) (string, bool) {
	if v := gjson.Get(user, "session_id"); strings.HasPrefix(user, "{") && v.Str != "" {
		return strings.Clone(v.Str), true
	}
	_, id, ok := strings.Cut(user, "_session_")
	return strings.Clone(id), ok && id != ""
}

// anthropicUsage reads a usage. The prompt is what was read from and written to the
// cache and the rest, which the API calls input.
func (a *Reply) anthropicUsage(u gjson.Result) {
	count(&a.OutputTokens, u.Get("output_tokens"))
	if in := u.Get("input_tokens"); in.Type == gjson.Number {
		count(&a.Cached, u.Get("cache_read_input_tokens"))
		written := int32(0)
		count(&written, u.Get("cache_creation_input_tokens"))
		count(&a.PromptTokens, in)
		a.PromptTokens += max(a.Cached, 0) + written
	}
}

// block reads a whole block of content.
func (a *Reply) block(index int64, b gjson.Result) {
	switch b.Get("type").Str {
	case "text":
		a.say(b.Get("text"))
	case "thinking":
		a.think(b.Get("thinking"))
	case "tool_use", "server_tool_use":
		a.tool(index, b.Get("id"), b.Get("name"), b.Get("input"))
	}
}

// anthropicEvent reads an event of a stream.
func anthropicEvent(name string, data gjson.Result, a *Reply) {
	switch kind := data.Get("type").Str; kind {
	case "message_start":
		m := data.Get("message")
		a.head(m)
		a.anthropicUsage(m.Get("usage"))
	case "content_block_start":
		b := data.Get("content_block")
		if b.Get("type").Str == "tool_use" {
			a.tool(data.Get("index").Int(), b.Get("id"), b.Get("name"), gjson.Result{})
		} else {
			a.block(0, b)
		}
	case "content_block_delta":
		d := data.Get("delta")
		a.say(d.Get("text"))
		a.think(d.Get("thinking"))
		if args := d.Get("partial_json"); args.Exists() {
			a.tool(data.Get("index").Int(), gjson.Result{}, gjson.Result{}, args)
		}
	case "message_delta":
		keep(&a.Finish, data.Get("delta.stop_reason"))
		a.anthropicUsage(data.Get("usage"))
	case "message_stop":
		a.Ended = true
	}
}

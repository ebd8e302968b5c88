package wire

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// responses is OpenAI's responses API.
var responses = dialect{
	path: "/v1/responses",
	request: func(body gjson.Result, r *Request) {
		if system := body.Get("instructions"); system.Type == gjson.String {
			r.add(Message{Role: System, Raw: raw(system), digest: heardDigest(System, system, r.salt)})
		}
		switch input := body.Get("input"); {
		case input.Type == gjson.String:
			r.add(Message{Role: User, Raw: raw(input), digest: heardDigest(User, input, r.salt)})
		case input.IsArray():
			r.items(input)
		}
		r.Offered = withoutSecrets(body.Get("tools"))
		r.Previous = strings.Clone(body.Get("previous_response_id").Str)
		r.name(body.Get("conversation.id"), "conversation")
		r.name(body.Get("conversation"), "conversation")
		r.name(body.Get("prompt_cache_key"), "prompt_cache_key")
	},
	whole: func(body gjson.Result, a *Reply) { a.response(body) },
	event: responseEvent,
}

// said is what an assistant said in items that stand together: one message.
type said struct {
	raw  []string
	text string
	ids  []string
}

// items reads the items of an input.
func (r *Request) items(input gjson.Result) {
	var s said
	input.ForEach(func(_, item gjson.Result) bool {
		switch kind := item.Get("type").Str; {
		case kind == "function_call" || kind == "custom_tool_call":
			s.ids = append(s.ids, item.Get("call_id").Str)
		case kind == "reasoning":
		case item.Get("role").Str == "assistant":
			s.text += textOf(item.Get("content"))
		default:
			r.flush(&s)
			r.add(responseItem(item, r.salt))
			return true
		}
		s.raw = append(s.raw, item.Raw)
		return true
	})
	r.flush(&s)
}

// flush adds what the assistant said.
func (r *Request) flush(s *said) {
	if len(s.raw) == 0 {
		return
	}
	text := json.RawMessage("[" + strings.Join(s.raw, ",") + "]")
	r.add(Message{Role: Assistant, Raw: text, digest: saidDigest(s.text, s.ids, r.salt)})
	*s = said{}
}

// responseItem reads an item that is not the assistant's.
func responseItem(item gjson.Result, salt uint64) Message {
	m := Message{Role: User, Raw: raw(item)}
	switch kind := item.Get("type").Str; {
	case strings.HasSuffix(kind, "_call_output"):
		m.Role = Tool
		m.answer(item.Get("call_id"), item.Get("output"))
	case item.Get("role").Str == "system" || item.Get("role").Str == "developer":
		m.Role = System
	}
	m.digest = heardDigest(m.Role, item, salt)
	return m
}

// response reads a whole response.
func (a *Reply) response(body gjson.Result) {
	a.head(body)
	u := body.Get("usage")
	count(&a.PromptTokens, u.Get("input_tokens"))
	count(&a.OutputTokens, u.Get("output_tokens"))
	count(&a.Cached, u.Get("input_tokens_details.cached_tokens"))
	index := int64(0)
	body.Get("output").ForEach(func(_, item gjson.Result) bool {
		a.item(index, item)
		index++
		return true
	})
	a.Finish = strings.Clone(body.Get("status").Str)
	if why := body.Get("incomplete_details.reason"); why.Type == gjson.String {
		a.Finish = strings.Clone(why.Str)
	}
}

// item reads a whole item of an output.
func (a *Reply) item(index int64, item gjson.Result) {
	switch item.Get("type").Str {
	case "message":
		item.Get("content").ForEach(func(_, p gjson.Result) bool {
			a.say(p.Get("text"))
			return true
		})
	case "reasoning":
		item.Get("summary").ForEach(func(_, p gjson.Result) bool {
			a.think(p.Get("text"))
			return true
		})
	case "function_call", "custom_tool_call":
		args := item.Get("arguments")
		if !args.Exists() {
			args = item.Get("input")
		}
		a.tool(index, item.Get("call_id"), item.Get("name"), args)
	}
}

// responseEvent reads an event of a stream. Items count when they are done; what comes
// before only says when.
func responseEvent(_ string, data gjson.Result, a *Reply) {
	switch kind := data.Get("type").Str; {
	case kind == "response.completed" || kind == "response.incomplete":
		r := data.Get("response")
		content := a.content
		if a.text.Len() > 0 || len(a.Tools) > 0 {
			r = withoutOutput(r)
		}
		a.response(r)
		a.content = content
		a.Ended = true
	case kind == "response.failed":
		a.Fail("error_in_answer", data.Get("response.error.message").Str)
		a.Ended = true
	case kind == "error":
		a.Fail("error_in_answer", data.Get("message").Str)
	case kind == "response.output_item.done":
		a.item(data.Get("output_index").Int(), data.Get("item"))
	case strings.HasSuffix(kind, ".delta"):
		a.content = true
	case kind == "response.created":
		keep(&a.ID, data.Get("response.id"))
	}
}

// withoutOutput is a response whose items have been read before.
func withoutOutput(r gjson.Result) gjson.Result {
	members := map[string]json.RawMessage{}
	r.ForEach(func(key, v gjson.Result) bool {
		if key.Str != "output" {
			members[key.Str] = raw(v)
		}
		return true
	})
	text, err := json.Marshal(members)
	if err != nil {
		return r // members that have been read are valid
	}
	return gjson.ParseBytes(text)
}

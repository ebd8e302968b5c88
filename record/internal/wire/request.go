package wire

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/zeebo/xxh3"
)

// Request is what a request says.
type Request struct {
	API     API
	Model   string
	Stream  bool
	Choices int  // answers asked for
	Batched bool // several prompts in one request
	// Digest tells whether two requests are the same, byte by byte.
	Digest uint64
	// Messages is the conversation, the system prompt first; empty for prompts that are
	// no conversation. Chain[i] names the messages up to number i.
	Messages []Message
	Chain    []uint64
	Offered  json.RawMessage // tools that the model may call, without secrets
	Prompt   string          // of completions, if it is text
	IDs      []uint32        // of the prompt, if the client sent ids
	Sampling json.RawMessage
	Session  string // conversation as a field names it, Field which one
	Field    string
	Previous string // id of the response that this request continues
	// Broken is whether the body is no JSON object.
	Broken bool
	salt   uint64
}

// Roles of messages.
const (
	System    = 's'
	User      = 'u'
	Assistant = 'a'
	Tool      = 't'
)

// Message is a message of a conversation.
type Message struct {
	Role    byte
	Raw     json.RawMessage
	Answers []string // ids of the tool calls whose results it holds
	Results map[string]json.RawMessage
	digest  uint64
}

// ParseRequest reads a request. salt is mixed into all digests.
func ParseRequest(api API, body []byte, salt uint64) *Request {
	r := &Request{API: api, Choices: 1, Digest: xxh3.HashSeed(body, salt), salt: salt}
	if !gjson.ValidBytes(body) {
		r.Broken = true
		return r
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		r.Broken = true
		return r
	}
	r.Model = strings.Clone(root.Get("model").Str)
	r.Stream = root.Get("stream").Bool()
	if n := root.Get("n"); n.Exists() {
		r.Choices = int(n.Int())
	}
	r.name(root.Get("session_id"), "session_id")
	dialects[api].request(root, r)
	r.Sampling = sampling(root)
	r.chain()
	return r
}

// name notes the session that a field of the body names.
func (r *Request) name(v gjson.Result, field string) {
	if r.Session == "" && v.Type == gjson.String && v.Str != "" {
		r.Session, r.Field = strings.Clone(v.Str), field
	}
}

// chain names all beginnings of the conversation. Talks with two models have nothing
// in common.
func (r *Request) chain() {
	last := xxh3.HashStringSeed(r.Model, r.salt)
	for i := range r.Messages {
		last = link(last, r.Messages[i].digest, r.salt)
		r.Chain = append(r.Chain, last)
	}
}

// After is the name of the conversation with an answer at its end, 0 if it is none.
func (r *Request) After(a *Reply) uint64 {
	if len(r.Chain) == 0 {
		return 0
	}
	var ids []string
	for i := range a.Tools {
		ids = append(ids, a.Tools[i].ID)
	}
	return link(r.Chain[len(r.Chain)-1], saidDigest(a.Text(), ids, r.salt), r.salt)
}

// Roles has one letter a message.
func (r *Request) Roles() string {
	roles := make([]byte, len(r.Messages))
	for i := range r.Messages {
		roles[i] = r.Messages[i].Role
	}
	return string(roles)
}

// Answers lists the tool calls whose results are in the conversation.
func (r *Request) Answers() (ids []string) {
	for i := range r.Messages {
		ids = append(ids, r.Messages[i].Answers...)
	}
	return ids
}

// add adds a message. What an assistant says in several items is one message.
func (r *Request) add(m Message) { r.Messages = append(r.Messages, m) }

// raw is a copy of a value's text.
func raw(v gjson.Result) json.RawMessage { return json.RawMessage(v.Raw) }

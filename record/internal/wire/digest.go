package wire

import (
	"encoding/binary"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/zeebo/xxh3"
)

// link is the name of a conversation with one message more.
func link(chain, message, salt uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], chain)
	binary.LittleEndian.PutUint64(b[8:], message)
	return xxh3.HashSeed(b[:], salt)
}

// heardDigest names what somebody other than the model said. Marks for caches move
// from message to message as a conversation grows, and clients leave out members
// that are null; neither counts. A text is the same as a list of one text.
func heardDigest(role byte, v gjson.Result, salt uint64) uint64 {
	h := xxh3.NewSeed(salt)
	_, _ = h.Write([]byte{role})
	content := v
	if v.IsObject() {
		v.ForEach(func(key, value gjson.Result) bool {
			if key.Str == "content" || key.Str == "output" {
				content = value
			} else if key.Str != "role" && key.Str != "type" {
				member(h, key, value)
			}
			return true
		})
	}
	if !content.IsArray() {
		part(h, content)
		return h.Sum64()
	}
	content.ForEach(func(_, p gjson.Result) bool {
		part(h, p)
		return true
	})
	return h.Sum64()
}

// part adds a piece of content.
func part(h *xxh3.Hasher, p gjson.Result) {
	if kind := p.Get("type").Str; p.IsObject() && (kind == "text" || kind == "input_text") {
		p = p.Get("text")
	}
	value(h, p)
}

// value adds a JSON value, whatever the spaces in it.
func value(h *xxh3.Hasher, v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		put(h, '"', v.Str)
	case v.IsArray():
		put(h, '[', "")
		v.ForEach(func(_, e gjson.Result) bool {
			value(h, e)
			return true
		})
		put(h, ']', "")
	case v.IsObject():
		put(h, '{', "")
		v.ForEach(func(key, e gjson.Result) bool {
			member(h, key, e)
			return true
		})
		put(h, '}', "")
	default:
		put(h, '.', v.Raw)
	}
}

// member adds a member of an object.
func member(h *xxh3.Hasher, key, v gjson.Result) {
	if key.Str != "cache_control" && v.Type != gjson.Null {
		put(h, ':', key.Str)
		value(h, v)
	}
}

// put adds a text with its kind and its length.
func put(h *xxh3.Hasher, kind byte, text string) {
	var b [9]byte
	b[0] = kind
	binary.LittleEndian.PutUint64(b[1:], uint64(len(text)))
	_, _ = h.Write(b[:])
	_, _ = h.WriteString(text)
}

// saidDigest names what the model said: its text and its tool calls. What it thought
// is left out, since clients do not always send it back.
func saidDigest(text string, tools []string, salt uint64) uint64 {
	h := xxh3.NewSeed(salt)
	put(h, Assistant, strings.TrimSpace(text))
	for _, id := range tools {
		put(h, 'c', id)
	}
	return h.Sum64()
}

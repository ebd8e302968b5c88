package serve

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Tokenizer turns text into token ids and back.
type Tokenizer interface {
	// Encode is the ids of a text. special adds the tokens that the tokenizer puts around
	// a text by itself.
	Encode(text string, special bool) ([]uint32, error)
	// Chat is the ids of a conversation, with generate up to where the answer begins.
	// messages, tools and arguments of the template are JSON as requests have them, the
	// contents of messages as text; nil where there are none.
	Chat(messages, tools, arguments json.RawMessage, generate bool) ([]uint32, error)
	// AppendPiece appends the bytes that a token stands for.
	AppendPiece(dst []byte, id uint32) []byte
	// Special is whether the text of an answer is shown without the token.
	Special(id uint32) bool
	// Vocabulary is the number of token ids, from 0.
	Vocabulary() int
	// Words are the ids, one at least, that made-up answers consist of: plain text, whose
	// ids are these again.
	Words() []uint32
}

// Bytes is the tokenizer of last resort: a token is a byte. It takes all ids that a
// recorded prompt of today's models can have; those above 255 are words of their own.
type Bytes struct{}

// bytesVocabulary is above the vocabularies of today's models (at most 262,144 entries,
// latency/arch/models.csv).
const bytesVocabulary = 1 << 20

// Encode implements [Tokenizer].
func (Bytes) Encode(text string, _ bool) ([]uint32, error) {
	ids := make([]uint32, len(text))
	for i := range len(text) {
		ids[i] = uint32(text[i])
	}
	return ids, nil
}

// AppendPiece implements [Tokenizer].
func (Bytes) AppendPiece(dst []byte, id uint32) []byte {
	if id <= 0xFF {
		return append(dst, byte(id))
	}
	return append(strconv.AppendUint(append(dst, '<'), uint64(id), 10), '>')
}

// Chat implements [Tokenizer]: <|role|>, the content, each on a line; tools in front,
// calls of tools behind the content.
func (b Bytes) Chat(messages, tools, _ json.RawMessage, generate bool) ([]uint32, error) {
	var list []struct {
		Role      string
		Content   string
		ToolCalls json.RawMessage `json:"tool_calls"`
	}
	if err := json.Unmarshal(messages, &list); err != nil {
		return nil, err
	}
	text := ""
	if given(tools) {
		text = "<|tools|>\n" + string(tools) + "\n"
	}
	for _, m := range list {
		text += "<|" + m.Role + "|>\n" + m.Content
		if given(m.ToolCalls) {
			text += string(m.ToolCalls)
		}
		text += "\n"
	}
	if generate {
		text += "<|assistant|>\n"
	}
	return b.Encode(text, false)
}

// Special implements [Tokenizer]: there are no marks.
func (Bytes) Special(uint32) bool { return false }

// Vocabulary implements [Tokenizer].
func (Bytes) Vocabulary() int { return bytesVocabulary }

// Words implements [Tokenizer].
func (Bytes) Words() (ids []uint32) {
	for _, letter := range []byte("etaoin shrdlu cmfwyp ") {
		ids = append(ids, uint32(letter))
	}
	return ids
}

// decode is the text of ids, marks included; bytes that are no text are replaced.
func decode(t Tokenizer, ids []uint32) string {
	d := decoder{tokenizer: t, marks: true, left: -1}
	return d.next(ids) + d.rest()
}

// decoder turns a stream of tokens into text. A character whose bytes have not all come
// is held back.
type decoder struct {
	tokenizer Tokenizer
	marks     bool // special tokens are shown
	held      []byte
	left      int // bytes of text that are still shown; negative: all
}

func (d *decoder) next(ids []uint32) string {
	for _, id := range ids {
		if d.marks || !d.tokenizer.Special(id) {
			d.held = d.tokenizer.AppendPiece(d.held, id)
		}
	}
	whole := len(d.held)
	for back := 1; back < utf8.UTFMax && back <= len(d.held); back++ {
		if tail := d.held[len(d.held)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= back
			}
			break
		}
	}
	text := legible(d.held[:whole])
	d.held = append(d.held[:0], d.held[whole:]...)
	return d.show(text)
}

// show is what is shown of a text.
func (d *decoder) show(text string) string {
	if d.left < 0 {
		return text
	}
	text = text[:min(len(text), d.left)]
	d.left -= len(text)
	return text
}

// rest is what is still held back.
func (d *decoder) rest() string {
	text := legible(d.held)
	d.held = d.held[:0]
	return d.show(text)
}

// legible is bytes as text, with U+FFFD for those that are none.
func legible(b []byte) string {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}

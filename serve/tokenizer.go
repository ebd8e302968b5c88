package serve

import (
	"strconv"
	"unicode/utf8"
)

// Tokenizer turns text into token ids and back.
type Tokenizer interface {
	Encode(text string) []uint32
	// AppendPiece appends the bytes that a token stands for.
	AppendPiece(dst []byte, id uint32) []byte
	// Chat is the ids of a conversation, up to where the answer begins.
	Chat(messages []Message) []uint32
	// Vocabulary is the number of token ids, from 0.
	Vocabulary() int
	// Letters are the ids that made-up answers consist of: plain text, whose ids are
	// these again.
	Letters() []uint32
}

// Message is one message of a conversation, its parts as text.
type Message struct{ Role, Content string }

// Bytes is the tokenizer of last resort: a token is a byte. It takes all ids that a
// recorded prompt of today's models can have; those above 255 are words of their own.
type Bytes struct{}

// bytesVocabulary is above the vocabularies of today's models (at most 262,144 entries,
// latency/arch/models.csv).
const bytesVocabulary = 1 << 20

// Encode implements [Tokenizer].
func (Bytes) Encode(text string) []uint32 {
	ids := make([]uint32, len(text))
	for i := range len(text) {
		ids[i] = uint32(text[i])
	}
	return ids
}

// AppendPiece implements [Tokenizer].
func (Bytes) AppendPiece(dst []byte, id uint32) []byte {
	if id <= 0xFF {
		return append(dst, byte(id))
	}
	return append(strconv.AppendUint(append(dst, '<'), uint64(id), 10), '>')
}

// Chat implements [Tokenizer]: <|role|>, the content, each on a line.
func (b Bytes) Chat(messages []Message) []uint32 {
	text := ""
	for _, m := range messages {
		text += "<|" + m.Role + "|>\n" + m.Content + "\n"
	}
	return b.Encode(text + "<|assistant|>\n")
}

// Vocabulary implements [Tokenizer].
func (Bytes) Vocabulary() int { return bytesVocabulary }

// Letters implements [Tokenizer].
func (b Bytes) Letters() []uint32 { return b.Encode("etaoin shrdlu cmfwyp ") }

// decode is the text of ids; bytes that are no text are replaced.
func decode(t Tokenizer, ids []uint32) string {
	var d decoder
	return d.next(t, ids) + d.rest()
}

// decoder turns a stream of tokens into text. A character whose bytes have not all come
// is held back.
type decoder struct{ held []byte }

func (d *decoder) next(t Tokenizer, ids []uint32) string {
	for _, id := range ids {
		d.held = t.AppendPiece(d.held, id)
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
	return text
}

// rest is what is still held back.
func (d *decoder) rest() string {
	text := legible(d.held)
	d.held = d.held[:0]
	return text
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

package tokenize

import "slices"

// piece is what a token stands for.
type piece struct {
	bytes   string
	special bool
}

// bytesOfLetters turns letters back into the bytes that they stand for.
var bytesOfLetters = func() map[rune]byte {
	back := make(map[rune]byte, len(letters))
	for b, l := range letters {
		back[[]rune(l)[0]] = byte(b)
	}
	return back
}()

// readPieces notes what each id stands for.
func (m *Model) readPieces() {
	m.pieces = make([]piece, m.size())
	for word, id := range m.vocab {
		var text []byte
		for _, r := range word {
			if b, ok := bytesOfLetters[r]; ok {
				text = append(text, b)
			} else {
				text = append(text, string(r)...) // an added token that is in the vocabulary, too
			}
		}
		m.pieces[id].bytes = string(text)
	}
	for _, a := range m.added {
		m.pieces[a.ID] = piece{a.Content, a.Special}
	}
}

// size is the number of ids from 0 to the largest.
func (m *Model) size() (n int) {
	for _, id := range m.vocab {
		n = max(n, int(id)+1)
	}
	for _, a := range m.added {
		n = max(n, int(a.ID)+1)
	}
	return n
}

// Vocabulary is the number of token ids, from 0 to the largest that has a meaning. The
// output of a model may be wider.
func (m *Model) Vocabulary() int { return len(m.pieces) }

// AppendPiece appends the bytes that a token stands for: nothing for an id without a
// meaning. A character may have its bytes in several tokens.
func (m *Model) AppendPiece(dst []byte, id uint32) []byte {
	if int(id) >= len(m.pieces) {
		return dst
	}
	return append(dst, m.pieces[id].bytes...)
}

// Special is whether a token is a mark that texts are shown without, such as an end of
// text.
func (m *Model) Special(id uint32) bool { return int(id) < len(m.pieces) && m.pieces[id].special }

// mostWords bounds [Model.Words]. Small ids are frequent words: merges that were learnt
// early.
const mostWords = 4096

// Words are ids of plain words with a space in front (mostWords at most, the smallest
// ids), whose text, in any order, has these ids again. A vocabulary without such words
// has other ids that stay what they are one by one, or none.
func (m *Model) Words() []uint32 {
	if ids := m.stable(plainWord); len(ids) > 1 {
		return ids
	}
	return m.stable(func(text string) bool { return text != "" })
}

// stable are ids of texts that encode to these ids again.
func (m *Model) stable(wanted func(text string) bool) (ids []uint32) {
	for id, p := range m.pieces {
		if p.special || !wanted(p.bytes) {
			continue
		}
		if back, err := m.Encode(p.bytes, false); err != nil || !slices.Equal(back, []uint32{uint32(id)}) {
			continue
		}
		if ids = append(ids, uint32(id)); len(ids) == mostWords {
			break
		}
	}
	return ids
}

// plainWord is whether a text is a space and lower-case letters: all pre-tokenizers
// keep such words apart.
func plainWord(text string) bool {
	if len(text) < 2 || text[0] != ' ' {
		return false
	}
	for i := 1; i < len(text); i++ {
		if text[i] < 'a' || text[i] > 'z' {
			return false
		}
	}
	return true
}

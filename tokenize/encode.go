package tokenize

import (
	"fmt"

	"github.com/dlclark/regexp2/v2"
)

// Encode is the ids of a text. special adds the tokens that the tokenizer puts around a
// text by itself, such as a begin token. It fails if a byte of the text has no token.
func (m *Model) Encode(text string, special bool) (ids []uint32, err error) {
	if special {
		ids = append(ids, m.before...)
	}
	for text != "" {
		at, token := m.nextAdded(text)
		if ids, err = m.encodePlain(ids, m.normalized(text[:at])); err != nil {
			return nil, err
		}
		if token == nil {
			break
		}
		ids = append(ids, token.ID)
		text = text[at+len(token.Content):]
	}
	if special {
		ids = append(ids, m.after...)
	}
	return ids, nil
}

// encodePlain adds the ids of a text without added tokens.
func (m *Model) encodePlain(ids []uint32, text string) ([]uint32, error) {
	words := []string{text}
	for _, re := range m.splits {
		var finer []string
		for _, w := range words {
			pieces, err := isolate(re, w)
			if err != nil {
				return nil, err
			}
			finer = append(finer, pieces...)
		}
		words = finer
	}
	var err error
	for _, w := range words {
		if ids, err = m.encodeWord(ids, w); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// isolate cuts a text at both ends of each match.
func isolate(re *regexp2.Regexp, text string) (pieces []string, err error) {
	runes := []rune(text)
	matches, err := re.FindAllRunesIndex(runes, -1)
	at := 0
	for _, m := range matches {
		if m[0] == m[1] {
			continue
		}
		if m[0] > at {
			pieces = append(pieces, string(runes[at:m[0]]))
		}
		pieces = append(pieces, string(runes[m[0]:m[1]]))
		at = m[1]
	}
	if at < len(runes) {
		pieces = append(pieces, string(runes[at:]))
	}
	return pieces, err
}

// letters are the printable characters that stand for bytes (GPT-2's bytes_to_unicode):
// printable Latin-1 for itself, all others from U+0100 on.
var letters = func() (letters [256]string) {
	next := rune(256)
	for b := range rune(256) {
		switch {
		case b >= '!' && b <= '~', b >= '¡' && b <= '¬', b >= '®' && b <= 'ÿ':
			letters[b] = string(b)
		default:
			letters[b] = string(next)
			next++
		}
	}
	return letters
}()

// encodeWord adds the ids of a word: the pair of neighbours that was learnt first is
// merged, the first of equals first, until none is left.
func (m *Model) encodeWord(ids []uint32, word string) ([]uint32, error) {
	symbols := make([]string, 0, len(word))
	whole := ""
	for i := range len(word) {
		symbols = append(symbols, letters[word[i]])
		whole += letters[word[i]]
	}
	if id, ok := m.vocab[whole]; ok && m.ignoreMerges {
		return append(ids, id), nil
	}
	for len(symbols) > 1 {
		best, at := len(m.ranks), -1
		for i := range len(symbols) - 1 {
			if rank, ok := m.ranks[merge{symbols[i], symbols[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			break
		}
		symbols[at] += symbols[at+1]
		symbols = append(symbols[:at+1], symbols[at+2:]...)
	}
	for _, s := range symbols {
		id, ok := m.vocab[s]
		if !ok {
			return nil, fmt.Errorf("tokenize: no token for %q", s)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

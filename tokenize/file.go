package tokenize

import (
	"encoding/json"
	"fmt"
	"strings"
)

// file is a tokenizer.json, as far as it is understood.
type file struct {
	Added         []added         `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         struct {
		Type         string            `json:"type"`
		Vocab        map[string]uint32 `json:"vocab"`
		Merges       []merge           `json:"merges"`
		IgnoreMerges bool              `json:"ignore_merges"`
		ByteFallback bool              `json:"byte_fallback"`
		Prefix       string            `json:"continuing_subword_prefix"`
		Suffix       string            `json:"end_of_word_suffix"`
	} `json:"model"`
}

// added is a token that is found as it stands in the text.
type added struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Special    bool   `json:"special"`
}

// merge is two tokens that become one: "a b" or ["a","b"].
type merge [2]string

func (m *merge) UnmarshalJSON(text []byte) error {
	var pair []string
	if text[0] == '[' {
		if err := json.Unmarshal(text, &pair); err != nil {
			return err
		}
	} else {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		pair = strings.Split(s, " ")
	}
	if len(pair) != 2 {
		return fmt.Errorf("merges: %s: want two tokens", text)
	}
	*m = merge{pair[0], pair[1]}
	return nil
}

// part is a normalizer, a pre-tokenizer or a post-processor.
type part struct {
	Type           string            `json:"type"`
	Pattern        map[string]string `json:"pattern"` // Split: {"Regex": …} or {"String": …}
	Behavior       string            `json:"behavior"`
	Invert         bool              `json:"invert"`
	AddPrefixSpace bool              `json:"add_prefix_space"`
	UseRegex       *bool             `json:"use_regex"`
	Individual     bool              `json:"individual_digits"`
	Single         []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []uint32 `json:"ids"`
	} `json:"special_tokens"`
	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
}

// parts are the parts that a description consists of, those of sequences one by one.
func parts(text json.RawMessage) (list []part, err error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var p part
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if p.Type != "Sequence" {
		return []part{p}, nil
	}
	for _, inner := range append(append(p.Normalizers, p.PreTokenizers...), p.Processors...) {
		more, err := parts(inner)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

package tokenize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"
	"github.com/dlclark/regexp2/v2"
	"golang.org/x/text/unicode/norm"
)

// Model is the tokenizer of a model. It does not change: any number of goroutines may
// use it.
type Model struct {
	digest, templateDigest string
	vocab                  map[string]uint32
	ranks                  map[merge]int
	ignoreMerges           bool
	nfc                    bool
	splits                 []*regexp2.Regexp
	added                  []added // the longest first
	pieces                 []piece // by id
	before, after          []uint32
	template               *jinja.Template
	words                  map[string]string // special tokens that templates name
}

// Open reads the tokenizer in a model's folder: tokenizer.json, and the chat template
// in chat_template.jinja or tokenizer_config.json if there is one.
func Open(dir string) (*Model, error) {
	path := filepath.Join(dir, "tokenizer.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := m.openTemplate(dir); err != nil {
		return nil, err
	}
	return m, nil
}

// Digest is "sha256:…" of tokenizer.json.
func (m *Model) Digest() string { return m.digest }

// TemplateDigest is "sha256:…" of the chat template, "" if there is none.
func (m *Model) TemplateDigest() string { return m.templateDigest }

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// mostIDs bounds a vocabulary; those of today's models are below 300,000.
const mostIDs = 1 << 24

// parse reads a tokenizer.json.
func parse(text []byte) (*Model, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	b := &f.Model
	if b.Type != "BPE" || b.ByteFallback || b.Prefix != "" || b.Suffix != "" {
		return nil, fmt.Errorf("model: %s, expected byte-level BPE without byte_fallback, prefix and suffix", b.Type)
	}
	m := &Model{
		digest: digest(text), vocab: b.Vocab, ranks: make(map[merge]int, len(b.Merges)), ignoreMerges: b.IgnoreMerges, added: f.Added,
	}
	for i, pair := range b.Merges {
		m.ranks[pair] = i
	}
	for _, a := range m.added {
		if a.Content == "" || a.SingleWord || a.LStrip || a.RStrip {
			return nil, fmt.Errorf("added_tokens: %q, expected one without single_word, lstrip and rstrip", a.Content)
		}
	}
	slices.SortStableFunc(m.added, func(a, b added) int { return len(b.Content) - len(a.Content) })
	if n := m.size(); n > mostIDs {
		return nil, fmt.Errorf("model: an id of %d, expected less than %d", n-1, mostIDs)
	}
	m.readPieces()
	return m, errors.Join(m.readNormalizer(f.Normalizer), m.readSplits(f.PreTokenizer), m.readProcessor(f.PostProcessor))
}

func (m *Model) readNormalizer(text json.RawMessage) error {
	list, err := parts(text)
	for _, p := range list {
		if p.Type != "NFC" {
			return fmt.Errorf("normalizer: %s, expected NFC or none", p.Type)
		}
		m.nfc = true
	}
	return err
}

// byteLevelSplit is how GPT-2 cuts text into words (Hugging Face tokenizers,
// pre_tokenizers/byte_level.rs).
const byteLevelSplit = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func (m *Model) readSplits(text json.RawMessage) error {
	list, err := parts(text)
	if err != nil {
		return err
	}
	bytes := false
	for _, p := range list {
		pattern := ""
		switch {
		case bytes:
			return fmt.Errorf("pre_tokenizer: %s behind ByteLevel", p.Type)
		case p.Type == "ByteLevel" && !p.AddPrefixSpace:
			bytes = true
			if p.UseRegex == nil || *p.UseRegex {
				pattern = byteLevelSplit
			}
		case p.Type == "Split" && p.Behavior == "Isolated" && !p.Invert && p.Pattern["Regex"] != "":
			pattern = p.Pattern["Regex"]
		case p.Type == "Digits" && p.Individual:
			pattern = `\p{N}`
		default:
			return fmt.Errorf("pre_tokenizer: %s, expected ByteLevel without a prefix space, isolated Split by Regex, or individual Digits", p.Type)
		}
		if pattern == "" {
			continue
		}
		re, err := regexp2.Compile(pattern)
		if err != nil {
			return fmt.Errorf("pre_tokenizer: %w", err)
		}
		m.splits = append(m.splits, re)
	}
	if !bytes {
		return errors.New("pre_tokenizer: nothing, expected ByteLevel")
	}
	return nil
}

// readProcessor finds the tokens that stand around a text.
func (m *Model) readProcessor(text json.RawMessage) error {
	list, err := parts(text)
	if err != nil {
		return err
	}
	for _, p := range list {
		switch p.Type {
		case "ByteLevel":
		case "TemplateProcessing":
			ids := &m.before
			for _, piece := range p.Single {
				if piece.Special == nil {
					ids = &m.after
					continue
				}
				*ids = append(*ids, p.SpecialTokens[piece.Special.ID].IDs...)
			}
		default:
			return fmt.Errorf("post_processor: %s, expected ByteLevel or TemplateProcessing", p.Type)
		}
	}
	return nil
}

// normalized is a text as words are cut from it.
func (m *Model) normalized(text string) string {
	if m.nfc {
		return norm.NFC.String(text)
	}
	return text
}

// nextAdded finds the first added token in a text; of several at one place the longest.
func (m *Model) nextAdded(text string) (at int, token *added) {
	at = len(text)
	for i := range m.added {
		if j := strings.Index(text, m.added[i].Content); j >= 0 && j < at {
			at, token = j, &m.added[i]
		}
	}
	return at, token
}

package tokenize_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/tokenize"
)

// reference is what Hugging Face's tokenizers and Jinja2 make of the same files.
type reference struct {
	Texts []struct {
		Text string
		IDs  []uint32
	}
	Chats []struct {
		Messages, Tools json.RawMessage
		Generate        bool
		Text            string
		IDs             []uint32
	}
}

func open(t testing.TB) (*tokenize.Model, *reference) {
	t.Helper()
	m, err := tokenize.Open("testdata")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return m, &r
}

func TestIDsAreThoseOfTheReference(t *testing.T) {
	m, r := open(t)
	for _, c := range r.Texts {
		if got, err := m.Encode(c.Text, true); err != nil || !slices.Equal(got, c.IDs) {
			t.Errorf("%q: %v %v, want %v", c.Text, got, err, c.IDs)
		}
	}
	if len(r.Texts) < 300 {
		t.Errorf("%d texts", len(r.Texts))
	}
}

func TestConversationsAreThoseOfTheReference(t *testing.T) {
	m, r := open(t)
	for _, c := range r.Chats {
		tools := c.Tools
		if string(tools) == "null" {
			tools = nil
		}
		if got, err := m.Render(c.Messages, tools, nil, c.Generate); err != nil || got != c.Text {
			t.Errorf("%q %v, want %q", got, err, c.Text)
		}
		if got, err := m.Chat(c.Messages, tools, nil, c.Generate); err != nil || !slices.Equal(got, c.IDs) {
			t.Errorf("%v %v, want %v", got, err, c.IDs)
		}
	}
	if len(r.Chats) == 0 {
		t.Error("no conversations")
	}
}

// Ids that a text has stand for this text (in NFC, as the tokenizer normalizes).
func TestPiecesOfATextAreTheText(t *testing.T) {
	m, r := open(t)
	for _, c := range r.Texts {
		var text []byte
		for _, id := range c.IDs {
			if int(id) >= m.Vocabulary() {
				t.Fatalf("id %d of a vocabulary of %d", id, m.Vocabulary())
			}
			text = m.AppendPiece(text, id)
		}
		if want := norm.NFC.String(c.Text); string(text) != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	if got := m.AppendPiece(nil, uint32(m.Vocabulary())); got != nil {
		t.Errorf("an id without a meaning is %q", got)
	}
	if !m.Special(2) || m.Special(3) || m.Special(1<<31) {
		t.Error("<|im_end|> is special, a letter is not")
	}
}

// Whatever is said in words has the same ids when it is read.
func TestWordsInAnyOrderHaveTheirIDs(t *testing.T) {
	m, _ := open(t)
	words := m.Words()
	if len(words) < 2 {
		t.Fatalf("%d words", len(words))
	}
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "ids")
		var text []byte
		for _, id := range ids {
			text = m.AppendPiece(text, id)
		}
		if got, err := m.Encode(string(text), false); err != nil || !slices.Equal(got, ids) {
			t.Fatalf("%q: %v %v, want %v", text, got, err, ids)
		}
	})
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	const whole = `{"added_tokens":[{"id":0,"content":"x"%s}],"normalizer":%s,"pre_tokenizer":%s,"post_processor":%s,"model":{"type":%q,"vocab":{},"merges":[%s]}}`
	for _, c := range []struct {
		added, normalizer, pre, post, model, merges, want string
	}{
		{"", "null", `{"type":"ByteLevel"}`, "null", "Unigram", "", "model: Unigram"},
		{`,"lstrip":true`, "null", `{"type":"ByteLevel"}`, "null", "BPE", "", "added_tokens"},
		{"", `{"type":"NFKC"}`, `{"type":"ByteLevel"}`, "null", "BPE", "", "normalizer: NFKC"},
		{"", "null", `{"type":"Metaspace"}`, "null", "BPE", "", "pre_tokenizer: Metaspace"},
		{"", "null", "null", "null", "BPE", "", "expected ByteLevel"},
		{"", "null", `{"type":"Split","behavior":"Isolated","pattern":{"Regex":"("}}`, "null", "BPE", "", "pre_tokenizer"},
		{"", "null", `{"type":"ByteLevel"}`, `{"type":"BertProcessing"}`, "BPE", "", "post_processor: BertProcessing"},
		{"", "null", `{"type":"ByteLevel"}`, "null", "BPE", `"a b c"`, "want two tokens"},
		{`},{"id":4000000000,"content":"y"`, "null", `{"type":"ByteLevel"}`, "null", "BPE", "", "an id of 4000000000"},
	} {
		dir := t.TempDir()
		text := fmt.Sprintf(whole, c.added, c.normalizer, c.pre, c.post, c.model, c.merges)
		if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tokenize.Open(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzEncode(f *testing.F) {
	m, _ := open(f)
	f.Add("it's <|im_end|>\r\n é 12")
	f.Fuzz(func(t *testing.T, text string) {
		one, err := m.Encode(text, false)
		if err != nil {
			t.Fatal(err)
		}
		two, _ := m.Encode(text+"<|im_end|>", false)
		if strings.Contains(text, "<|im") || strings.HasSuffix(text, "<") || strings.HasSuffix(text, "<|") {
			return // what follows may complete it
		}
		if len(two) != len(one)+1 || !slices.Equal(two[:len(one)], one) {
			t.Fatalf("%q: %v, with an end %v", text, one, two)
		}
	})
}

package tokenize_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

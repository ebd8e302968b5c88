package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ardanlabs/jinja"
)

// ErrNoTemplate says that a model has no chat template.
var ErrNoTemplate = errors.New("tokenize: the model has no chat template")

// openTemplate reads the chat template of a model's folder.
func (m *Model) openTemplate(dir string) error {
	var config struct {
		Template json.RawMessage `json:"chat_template"`
	}
	m.words = map[string]string{}
	path := filepath.Join(dir, "tokenizer_config.json")
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &config); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		m.readWords(text)
	}
	source := ""
	if json.Unmarshal(config.Template, &source) != nil { // a list of several, or none
		source = ""
	}
	file, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja"))
	if err == nil {
		source = string(file)
	}
	if source == "" {
		return nil
	}
	if m.template, err = jinja.Compile(source); err != nil {
		return fmt.Errorf("%s: chat_template: %w", path, err)
	}
	m.templateDigest = digest([]byte(source))
	return nil
}

// readWords finds the special tokens that templates use by name: a text, or an object
// with the text in it.
func (m *Model) readWords(config []byte) {
	var members map[string]json.RawMessage
	if json.Unmarshal(config, &members) != nil {
		return // it has been read before: it is an object
	}
	for _, name := range []string{"bos_token", "eos_token", "pad_token", "unk_token"} {
		var word string
		var object struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(members[name], &word) == nil {
			m.words[name] = word
		} else if json.Unmarshal(members[name], &object) == nil {
			m.words[name] = object.Content
		}
	}
}

// Chat is the ids of a conversation as the chat template writes it. messages and tools
// are JSON as chat requests have them, tools nil if there are none; arguments is more
// that the template may use (chat_template_kwargs), nil if there is nothing.
func (m *Model) Chat(messages, tools, arguments json.RawMessage, generate bool) ([]uint32, error) {
	text, err := m.Render(messages, tools, arguments, generate)
	if err != nil {
		return nil, err
	}
	return m.Encode(text, false)
}

// Render is the text of a conversation as the chat template writes it.
func (m *Model) Render(messages, tools, arguments json.RawMessage, generate bool) (string, error) {
	if m.template == nil {
		return "", ErrNoTemplate
	}
	values := map[string]jinja.Value{"add_generation_prompt": jinja.NewBool(generate)}
	for name, word := range m.words {
		values[name] = jinja.NewString(word)
	}
	if len(arguments) > 0 {
		v, err := ordered(arguments)
		if err != nil {
			return "", err
		}
		if v.IsDict() {
			d := v.AsDict()
			for _, key := range d.OrderedKeys() {
				values[key], _ = d.Get(key)
			}
		}
	}
	var err error
	if values["messages"], err = ordered(messages); err != nil {
		return "", fmt.Errorf("messages: %w", err)
	}
	if len(tools) > 0 {
		if values["tools"], err = ordered(tools); err != nil {
			return "", fmt.Errorf("tools: %w", err)
		}
	}
	return m.template.RenderValues(values)
}

// ordered is a JSON value with the members of objects in their order.
func ordered(text json.RawMessage) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return orderedNext(d)
}

func orderedNext(d *json.Decoder) (jinja.Value, error) {
	t, err := d.Token()
	if err != nil {
		return jinja.None(), err
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return orderedList(d)
		}
		return orderedDict(d)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return jinja.NewInt(i), nil
		}
		f, err := v.Float64()
		return jinja.NewFloat(f), err
	case string:
		return jinja.NewString(v), nil
	case bool:
		return jinja.NewBool(v), nil
	}
	return jinja.None(), nil
}

func orderedList(d *json.Decoder) (jinja.Value, error) {
	var items []jinja.Value
	for d.More() {
		v, err := orderedNext(d)
		if err != nil {
			return v, err
		}
		items = append(items, v)
	}
	_, err := d.Token()
	return jinja.NewList(items), err
}

func orderedDict(d *json.Decoder) (jinja.Value, error) {
	dict := jinja.NewDict()
	inner := dict.AsDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return dict, err
		}
		v, err := orderedNext(d)
		if err != nil {
			return dict, err
		}
		inner.Set(fmt.Sprint(key), v)
	}
	_, err := d.Token()
	return dict, err
}

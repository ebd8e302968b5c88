package keys

import (
	"bytes"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Document is one parsed YAML or JSON file.
type Document struct {
	source source
	root   ast.Node // nil if the file says nothing
}

// Parse parses a file that has at most one document. name stands in messages.
func Parse(name string, text []byte) (*Document, error) {
	d := &Document{source: source{name: name, dir: filepath.Dir(name)}}
	text = bytes.TrimPrefix(text, mark)
	if !utf8.Valid(text) {
		return nil, &Problem{At: name, Text: "not UTF-8: want a configuration as UTF-8 text"}
	}
	file, err := parse(text)
	if err != nil {
		return nil, d.source.syntax(err)
	}
	if begin := secondDocument(file.Docs); begin != nil {
		return nil, &Problem{At: d.source.place(begin), Text: "a second document begins: want one"}
	}
	if len(file.Docs) > 0 && file.Docs[0].Body != nil {
		d.root = file.Docs[0].Body
		d.source.anchors = anchors(d.root)
	}
	return d, nil
}

// secondDocument is where a document that says something begins behind another one,
// nil if there is none.
func secondDocument(docs []*ast.DocumentNode) *token.Token {
	for i, doc := range docs {
		if doc.Body == nil && doc.Start != nil {
			return behindEmpty(doc.Start)
		}
		if i > 0 && doc.Body != nil {
			return doc.Start
		}
	}
	return nil
}

// behindEmpty is where a document that says something begins behind the empty one
// that begins at t: the parser stops at an empty one.
func behindEmpty(t *token.Token) *token.Token {
	begin := t
	for t = t.Next; t != nil; t = t.Next {
		switch t.Type {
		case token.DocumentHeaderType:
			begin = t
		case token.CommentType, token.DocumentEndType:
		default:
			return begin
		}
	}
	return nil
}

// mark is the byte order mark that some editors put in front of UTF-8.
var mark = []byte("\xef\xbb\xbf")

// maxDepth is how deep lists and brackets may be nested. The parser's time and
// memory grow with the square of it.
const maxDepth = 256

// parse is the parser behind a fence: odd texts could make it panic, or run out of
// memory.
func parse(text []byte) (file *ast.File, err error) {
	if depth(text) > maxDepth {
		return nil, fmt.Errorf("more than %d brackets or lists are open: want a configuration", maxDepth)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML: %v", r)
		}
	}()
	return parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
}

// depth is how deep brackets and lists of lists on one line ("- - -") are nested,
// or more.
func depth(text []byte) int {
	brackets, dashes, most := 0, 0, 0
	begins := true // nothing but dashes and spaces so far on this line
	for i, c := range text {
		switch {
		case c == '[' || c == '{':
			brackets++
		case c == ']' || c == '}':
			brackets--
		case c == '-' && begins && i+1 < len(text) && text[i+1] == ' ':
			dashes++
		case c == '\n':
			begins, dashes = true, 0
			continue
		}
		begins = begins && (c == '-' || c == ' ')
		most = max(most, brackets, dashes)
	}
	return most
}

// Section is the part of a document below one of its keys, nil if it has none.
func (d *Document) Section(key string) *Document {
	if value := d.value(key); value != nil {
		return &Document{source: d.source, root: value}
	}
	return nil
}

// Text is the text below one of the document's keys, "" if there is none.
func (d *Document) Text(key string) string {
	if s, ok := d.value(key).(*ast.StringNode); ok {
		return s.Value
	}
	return ""
}

// value is what stands below a key.
func (d *Document) value(key string) ast.Node {
	for _, e := range entries(d.root) {
		if keyText(e) == key {
			return e.Value
		}
	}
	return nil
}

// source is what a value was read from.
type source struct {
	name     string
	dir      string
	argument bool
	anchors  map[string]ast.Node
}

// at is where a node stands.
func (s *source) at(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return s.name
	}
	t := n.GetToken()
	if e := entries(n); t.Value == ":" && len(e) > 0 { // a block mapping begins at its first key
		t = e[0].Key.GetToken()
	}
	return s.place(t)
}

// place is where a token stands; in an argument that means nothing to a reader.
func (s *source) place(t *token.Token) string {
	if s.argument || t == nil || t.Position == nil {
		return s.name
	}
	return fmt.Sprintf("%s:%d:%d", s.name, t.Position.Line, t.Position.Column)
}

// syntax is an error of the parser.
func (s *source) syntax(err error) *Problem {
	e, ok := err.(yaml.Error)
	if !ok {
		return &Problem{At: s.name, Text: err.Error()}
	}
	return &Problem{At: s.place(e.GetToken()), Text: "not YAML: " + e.GetMessage()}
}

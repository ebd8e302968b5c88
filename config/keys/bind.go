package keys

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/reprise-sim/reprise/setting"
)

// bind sets v, the value of a key, to a node. What does not fit is a problem and
// leaves v as it is. A nil node is null.
func (r *Reading) bind(s source, n ast.Node, v reflect.Value, path string) {
	at := s.at(n)
	n, err := s.resolve(n)
	if err != "" {
		r.add(at, path, err)
		return
	}
	r.note(path, Origin{At: at, Dir: s.dir}, isMapping(n) || !hasParts(v.Type()))
	null := n == nil || n.Type() == ast.NullType
	switch {
	case v.Kind() == reflect.Struct:
		if !null { // an empty section changes nothing
			r.section(s, n, v, path)
		}
	case v.Kind() == reflect.Pointer && null:
		v.SetZero()
	case v.Kind() == reflect.Pointer:
		r.optional(s, n, v, path)
	case v.Kind() == reflect.Slice && null:
		v.SetZero()
	case v.Kind() == reflect.Slice:
		r.list(s, n, v, path)
	default:
		if !setScalar(n, v) {
			r.add(at, path, fmt.Sprintf("%s: want %s", found(n), wanted(v.Type())))
		}
	}
}

// optional sets what may be null.
func (r *Reading) optional(s source, n ast.Node, v reflect.Value, path string) {
	target := v
	if v.IsNil() || !isSection(v.Type()) {
		target = reflect.New(v.Type().Elem())
	}
	before := len(r.problems)
	r.bind(s, n, target.Elem(), path)
	if len(r.problems) == before || isSection(v.Type()) {
		v.Set(target)
	}
}

// section lays a mapping over a struct.
func (r *Reading) section(s source, n ast.Node, v reflect.Value, path string) {
	if !isMapping(n) {
		r.add(s.at(n), path, fmt.Sprintf("%s: want keys and values", found(n)))
		return
	}
	seen := map[string]string{}
	for _, e := range entries(n) {
		key, at := keyText(e), s.at(e.Key)
		if first, twice := seen[key]; twice {
			r.add(at, join(path, key), "the key stands here again: it was at "+first)
			continue
		}
		seen[key] = at
		field, ok := find(v, key)
		if !ok {
			r.unknown(at, v, path, key)
			continue
		}
		r.bind(s, e.Value, field, join(path, key))
	}
}

// list replaces a list. A lone value is a list of one.
func (r *Reading) list(s source, n ast.Node, v reflect.Value, path string) {
	items := []ast.Node{n}
	if q, ok := n.(*ast.SequenceNode); ok {
		items = q.Values
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	before := len(r.problems)
	for i, item := range items {
		r.bind(s, item, list.Index(i), join(path, strconv.Itoa(i)))
	}
	if len(r.problems) == before {
		v.Set(list)
	}
}

// setScalar sets a single value. It is false if the node is of another type.
func setScalar(n ast.Node, v reflect.Value) bool {
	if v.Type() == switchType {
		return setSwitch(n, v)
	}
	switch v.Kind() {
	case reflect.String:
		text, ok := textOf(n)
		if ok {
			v.SetString(text)
		}
		return ok
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if ok {
			v.SetBool(b.Value)
		}
		return ok
	case reflect.Float64:
		f, ok := floatOf(n)
		if ok {
			v.SetFloat(f)
		}
		return ok
	}
	return setInteger(n, v)
}

var switchType = reflect.TypeFor[setting.Switch]()

// setSwitch sets what is true, false or left to the program.
func setSwitch(n ast.Node, v reflect.Value) bool {
	if b, ok := n.(*ast.BoolNode); ok {
		v.SetString(strconv.FormatBool(b.Value))
		return true
	}
	text, ok := textOf(n)
	if ok = ok && text == string(setting.Auto); ok {
		v.SetString(text)
	}
	return ok
}

// setInteger sets a whole number.
func setInteger(n ast.Node, v reflect.Value) bool {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return false
	}
	switch x := i.Value.(type) {
	case uint64:
		switch {
		case v.CanUint() && !v.OverflowUint(x):
			v.SetUint(x)
			return true
		case v.CanInt() && x <= math.MaxInt64 && !v.OverflowInt(int64(x)):
			v.SetInt(int64(x))
			return true
		}
	case int64:
		if v.CanInt() && !v.OverflowInt(x) {
			v.SetInt(x)
			return true
		}
	}
	return false
}

// textOf is the text of a node that is one.
func textOf(n ast.Node) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	}
	return "", false
}

// floatOf is the number of a node that is one. The parser takes 1e3 for a text, and
// so does not see whether it was in quotes.
func floatOf(n ast.Node) (float64, bool) {
	switch t := n.(type) {
	case *ast.InfinityNode:
		return t.Value, true
	case *ast.NanNode:
		return math.NaN(), true
	case *ast.FloatNode:
		return t.Value, true
	case *ast.IntegerNode:
		f, err := strconv.ParseFloat(fmt.Sprint(t.Value), 64)
		if strings.HasPrefix(t.Token.Value, "-") {
			f = math.Copysign(f, -1) // the parser drops the sign of -0
		}
		return f, err == nil
	case *ast.StringNode:
		if t.Value == ".inf" { // as JSON has to write it
			return math.Inf(1), true
		}
		if t.Token.Type != token.StringType || strings.Trim(t.Value, "+-.0123456789eE") != "" {
			return 0, false
		}
		f, err := strconv.ParseFloat(t.Value, 64)
		return f, err == nil
	}
	return 0, false
}

// wanted is a type in words.
func wanted(t reflect.Type) string {
	if t == switchType {
		return "true, false or auto"
	}
	switch section(t).Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "keys and values"
	case reflect.Uint64:
		return "a whole number from 0"
	}
	return "a whole number"
}

// found is a node as it stands, cut short.
func found(n ast.Node) string {
	switch t := n.(type) {
	case nil:
		return "null"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		if t.Token.Type != token.StringType {
			return excerpt(strconv.Quote(t.Value))
		}
		return excerpt(t.Value)
	}
	if isMapping(n) {
		return "keys and values"
	}
	if n.Type() == ast.NullType {
		return "null"
	}
	return excerpt(n.String())
}

func excerpt(text string) string {
	const most = 40
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// resolve is what a node stands for: behind an anchor its value, behind an alias
// that of the anchor.
func (s *source) resolve(n ast.Node) (ast.Node, string) {
	for range 8 { // an alias of an alias, at most so often
		switch t := n.(type) {
		case *ast.AnchorNode:
			n = t.Value
		case *ast.AliasNode:
			name := t.Value.String()
			named, ok := s.anchors[name]
			if !ok {
				return nil, fmt.Sprintf("*%s: want the name of an anchor in this file", name)
			}
			n = named
		case *ast.TagNode:
			return nil, fmt.Sprintf("%s: want a value without a tag", excerpt(t.Start.Value))
		default:
			return n, ""
		}
	}
	return nil, "an alias leads to itself"
}

// anchors are the named nodes of a document.
func anchors(root ast.Node) map[string]ast.Node {
	named := map[string]ast.Node{}
	ast.Walk(anchorVisitor(named), root)
	return named
}

type anchorVisitor map[string]ast.Node

func (a anchorVisitor) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a[anchor.Name.String()] = anchor.Value
	}
	return a
}

// isMapping is whether a node has keys.
func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// entries are the keys and values of a mapping.
func entries(n ast.Node) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	}
	return nil
}

// hasParts is whether values of a type have keys or items.
func hasParts(t reflect.Type) bool { return isSection(t) || section(t).Kind() == reflect.Slice }

// keyText is the text of a key.
func keyText(e *ast.MappingValueNode) string {
	if s, ok := e.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return e.Key.String()
}

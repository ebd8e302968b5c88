package keys

import (
	"reflect"
	"slices"
	"strings"
)

// field is a key of a settings struct.
type field struct {
	key  string
	doc  string
	enum []string // nil: any value
	typ  reflect.Type
}

// eachField visits the keys of a struct and their values in the order of its
// fields; those of inlined structs stand among them.
func eachField(v reflect.Value, visit func(f field, v reflect.Value)) {
	t := v.Type()
	for i := range t.NumField() {
		sf := t.Field(i)
		key, option, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			eachField(v.Field(i), visit)
		case key != "" && key != "-":
			f := field{key: key, doc: sf.Tag.Get("doc"), typ: sf.Type}
			if enum, ok := sf.Tag.Lookup("enum"); ok {
				f.enum = strings.Split(enum, ",")
			}
			visit(f, v.Field(i))
		}
	}
}

// find is the field of a struct with a key.
func find(v reflect.Value, key string) (found reflect.Value, ok bool) {
	eachField(v, func(f field, v reflect.Value) {
		if f.key == key {
			found, ok = v, true
		}
	})
	return found, ok
}

// names lists the keys of a struct, sorted.
func names(v reflect.Value) []string {
	var keys []string
	eachField(v, func(f field, _ reflect.Value) { keys = append(keys, f.key) })
	slices.Sort(keys)
	return keys
}

// isSection is whether values of a type have keys of their own.
func isSection(t reflect.Type) bool { return section(t).Kind() == reflect.Struct }

// isList is whether values of a type are lists of sections.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// section is t, or what it points to.
func section(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Key is one key of a settings struct.
type Key struct {
	Path    string // from the top, with dots
	Doc     string
	Enum    []string     // nil: any value of the type; "" in it: may be left out
	Type    reflect.Type // of the Go field
	Default reflect.Value
	Keys    []Key // of a section or of each section in a list, in order
}

// Walk lists the keys of a settings struct that holds its defaults. Below an
// optional section the defaults are zero values.
func Walk(defaults any) []Key { return walk(reflect.ValueOf(defaults), "") }

func walk(v reflect.Value, path string) []Key {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var keys []Key
	eachField(v, func(f field, v reflect.Value) {
		k := Key{Path: join(path, f.key), Doc: f.doc, Enum: f.enum, Type: f.typ, Default: v}
		switch {
		case isList(f.typ):
			k.Keys = walk(reflect.Zero(f.typ.Elem()), k.Path+"[]")
		case isSection(f.typ):
			inner := v
			if v.Kind() == reflect.Pointer && v.IsNil() {
				inner = reflect.Zero(section(f.typ))
			}
			k.Keys = walk(inner, k.Path)
		}
		keys = append(keys, k)
	})
	return keys
}

// List is whether the key holds a list of sections.
func (k *Key) List() bool { return isList(k.Type) }

// Name is the last part of a key's path.
func (k *Key) Name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// Optional is whether the key may be null.
func (k *Key) Optional() bool { return k.Type.Kind() == reflect.Pointer }

// join is the path of a key below another.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

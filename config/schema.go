package config

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"

	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/setting"
)

// Schema is the JSON Schema (draft 2020-12) of the configuration, made from the
// types that it is read into.
func Schema() ([]byte, error) {
	root := sectionSchema(keys.Walk(Defaults()))
	root.Dialect = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Reprise configuration"
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// schema is as much of JSON Schema as settings need.
type schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"` // a name or a list of names
	Enum        []any              `json:"enum,omitempty"`
	Default     any                `json:"default,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Closed      *bool              `json:"additionalProperties,omitempty"`
}

// sectionSchema describes an object with these keys and no others.
func sectionSchema(all []keys.Key) *schema {
	closed := false
	s := &schema{Type: "object", Closed: &closed, Properties: map[string]*schema{}}
	for i := range all {
		s.Properties[all[i].Name()] = keySchema(&all[i])
	}
	return s
}

// keySchema describes the value of a key.
func keySchema(k *keys.Key) *schema {
	t := k.Type
	if k.Optional() {
		t = t.Elem()
	}
	s := &schema{}
	switch {
	case k.Type == reflect.TypeFor[setting.Switch]():
		return &schema{Enum: []any{true, false, setting.Auto}, Description: k.Doc, Default: k.Default.Interface()}
	case k.List():
		s.Type, s.Items = []string{"array", "null"}, sectionSchema(k.Keys)
	case k.Keys != nil:
		s = sectionSchema(k.Keys)
		s.Type = []string{"object", "null"} // an empty section changes nothing
	case t.Kind() == reflect.Slice: // a lone value is a list of one, null an empty one
		item := jsonType(t.Elem())
		s.Type, s.Items = []string{"array", item, "null"}, &schema{Type: item}
	case k.Optional():
		s.Type = []string{jsonType(t), "null"}
	default:
		s.Type = jsonType(t)
	}
	if t.Kind() == reflect.Uint64 {
		s.Minimum = new(int)
	}
	for _, word := range k.Enum {
		s.Enum = append(s.Enum, word)
	}
	s.Description, s.Default = k.Doc, defaultOf(k)
	return s
}

// jsonType is the name that JSON Schema has for a type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	}
	return "integer"
}

// defaultOf is the default of a key; nil if it is null, empty or a section.
func defaultOf(k *keys.Key) any {
	v := k.Default
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch {
	case k.Keys != nil, v.Kind() == reflect.Slice, v.Kind() == reflect.String && v.Len() == 0:
		return nil
	case v.Kind() == reflect.Float64 && math.IsInf(v.Float(), 0):
		return nil // JSON has no word for it
	}
	return v.Interface()
}

// words lists what an enum allows; "" stands for leaving the key out.
func words(enum []string) []string {
	return slices.DeleteFunc(slices.Clone(enum), func(s string) bool { return s == "" })
}

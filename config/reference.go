package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/setting"
)

//go:generate go run ./internal/reference ../docs/configuration.md

// Reference is docs/configuration.md: a table of keys for each section, made from
// the types that they are read into.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	writeSection(&b, "", keys.Walk(Defaults()))
	return b.String()
}

const referenceHead = `# Configuration

<!-- Generated from the settings types by "make docs"; edit their doc tags instead. -->

A configuration is a YAML file with the sections below. Every key has a default: what is not written stays as it is,
key by key, also inside a section; a list takes the place of the default list. An unknown key is an error, and so is one
of another arrival mode, latency model or rule set than the one that is chosen; settings of routers and cache tiers that are
not in use stand without effect. ` + "`--set a.b.c=value`" + ` sets any key from the command line, from left to right (items of lists by
number, from 0). Paths are relative to the file they stand in, those of arguments to the working directory.
The ` + "`run.json`" + ` of a run can be given in place of a file and repeats that run. ` + "`reprise schema`" + ` prints the same as JSON
Schema, for editors that complete and check.

`

// writeSection writes the table of a section, then those of the sections in it.
func writeSection(b *strings.Builder, path string, all []keys.Key) {
	if path != "" {
		fmt.Fprintf(b, "## `%s`\n\n", path)
	}
	b.WriteString("| key | type | default | what it is |\n|---|---|---|---|\n")
	for i := range all {
		k := &all[i]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name(), typeName(k), defaultText(k), cell(k.Doc))
	}
	b.WriteString("\n")
	for i := range all {
		if all[i].Keys != nil {
			writeSection(b, all[i].Path, all[i].Keys)
		}
	}
}

// typeName is the type of a key in words.
func typeName(k *keys.Key) string {
	if k.Keys != nil {
		name := "section"
		if k.List() {
			name = "list of sections"
		}
		return fmt.Sprintf("[%s](#%s)", name, anchor.Replace(k.Path))
	}
	if k.Type == reflect.TypeFor[setting.Switch]() {
		return "`auto`, `true`, `false`"
	}
	if enum := words(k.Enum); len(enum) > 0 {
		return "`" + strings.Join(enum, "`, `") + "`"
	}
	t := k.Type
	if k.Optional() {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "true, false"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	}
	return "integer"
}

// anchor makes the name of a heading's link out of a path.
var anchor = strings.NewReplacer(".", "", "[", "", "]", "")

// defaultText is the default of a key as YAML.
func defaultText(k *keys.Key) string {
	switch v := defaultOf(k); {
	case v != nil:
		return fmt.Sprintf("`%v`", v)
	case k.Keys != nil && !k.Optional() && !k.List():
		return ""
	case k.Optional():
		return "`null`"
	}
	return "–"
}

// cell is text that cannot end a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

package keys

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// Reading lays texts over a settings struct, the later over the earlier. A mapping
// sets the keys that it names and leaves the others as they are; a list takes the
// place of the list before it.
type Reading struct {
	into     reflect.Value
	planned  func(path string) bool
	problems Problems
	origins  map[string]Origin
}

// Origin is where the value of a key was written.
type Origin struct {
	At  string // file:line:column or the argument
	Dir string // folder that paths there are relative to; "": the working directory
}

// Read starts a reading into a struct that holds its defaults. planned says which
// keys are known and do nothing yet; nil: none.
func Read(into any, planned func(path string) bool) *Reading {
	if planned == nil {
		planned = func(string) bool { return false }
	}
	return &Reading{into: reflect.ValueOf(into).Elem(), planned: planned, origins: map[string]Origin{}}
}

// Document lays a document over the struct.
func (r *Reading) Document(d *Document) {
	if d.root != nil {
		r.bind(d.source, d.root, r.into, "")
	}
}

// Set lays an argument of the form a.b.c=value over the struct. The value is YAML;
// items of lists go by their number, a[0].b or a.0.b, and the number behind the last
// adds one.
func (r *Reading) Set(argument string) { r.SetBy("--set "+argument, argument) }

// SetBy is Set for an argument that something else stood for: messages name that.
func (r *Reading) SetBy(name, argument string) {
	path, text, ok := strings.Cut(argument, "=")
	at := source{name: name, argument: true}
	if !ok || path == "" {
		r.add(at.name, "", "want key=value")
		return
	}
	r.set(at, unbracketed(path), text)
}

// unbracketed is the path a.0.b for a[0].b.
func unbracketed(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, "[", "."), "]", "")
}

// Give sets one key to a text or a list of texts, as if an argument had said so.
func (r *Reading) Give(argument, path string, value any) {
	target, ok := r.target(source{name: argument, argument: true}, path)
	if !ok {
		return
	}
	v := reflect.ValueOf(value)
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	target.Set(v)
	r.note(path, Origin{At: argument}, false)
}

// note remembers where a key was written. What was below it is forgotten, unless
// the new value leaves some of it as it was or nothing can be there.
func (r *Reading) note(path string, o Origin, keeps bool) {
	if path == "" {
		return
	}
	r.origins[path] = o
	if keeps {
		return
	}
	for below := range r.origins {
		if strings.HasPrefix(below, path+".") {
			delete(r.origins, below)
		}
	}
}

func (r *Reading) set(at source, path, text string) {
	target, ok := r.target(at, path)
	if !ok {
		return
	}
	file, err := parse([]byte(text))
	switch {
	case err != nil:
		r.problems = append(r.problems, at.syntax(err))
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		r.bind(at, nil, target, path)
	case len(file.Docs) > 1:
		r.add(at.name, path, "want one value")
	default:
		at.anchors = anchors(file.Docs[0].Body)
		r.bind(at, file.Docs[0].Body, target, path)
	}
}

// target is the value that a path names. Optional sections on the way to it are
// made, if all of the path is there.
func (r *Reading) target(at source, path string) (v reflect.Value, ok bool) {
	v = r.into
	walked := ""
	var made reflect.Value // the first section that was made
	for _, part := range strings.Split(path, ".") {
		if v.Kind() == reflect.Pointer && isSection(v.Type()) {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
				if !made.IsValid() {
					made = v
				}
			}
			v = v.Elem()
		}
		if v, ok = r.step(at, v, walked, part); !ok {
			if made.IsValid() {
				made.SetZero()
			}
			return v, false
		}
		walked = join(walked, part)
	}
	return v, true
}

// step is the key or item of v that is named part. path is that of v.
func (r *Reading) step(at source, v reflect.Value, path, part string) (next reflect.Value, ok bool) {
	switch v.Kind() {
	case reflect.Struct:
		if next, ok = find(v, part); !ok {
			r.unknown(at.name, v, path, part)
		}
		return next, ok
	case reflect.Slice:
		return r.item(at, v, path, part)
	}
	r.add(at.name, join(path, part), path+" has no keys")
	return v, false
}

// item is an item of a list by its number, or a new one behind the last.
func (r *Reading) item(at source, list reflect.Value, path, number string) (v reflect.Value, ok bool) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > list.Len() {
		r.add(at.name, join(path, number), fmt.Sprintf("want the number of an item, from 0 to %d", list.Len()))
		return v, false
	}
	grown := reflect.MakeSlice(list.Type(), max(n+1, list.Len()), max(n+1, list.Len()))
	reflect.Copy(grown, list)
	list.Set(grown)
	return list.Index(n), true
}

// Check adds the settings that a part found wrong. Their fields are paths from the
// top. What is wrong with a key that has a problem already is not said again.
func (r *Reading) Check(err error) {
	before := r.problems
	for _, e := range setting.All(err) {
		if !slices.ContainsFunc(before, func(p *Problem) bool { return related(p.Key, e.Field) }) {
			r.problems = append(r.problems, r.Locate(e))
		}
	}
}

// related is whether two keys are the same or one is a part of the other.
func related(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// Locate is a wrong setting as a problem that says where its value was written; of
// a section that nobody wrote as a whole, where the first of its keys was.
func (r *Reading) Locate(e *setting.Error) *Problem {
	o, ok := r.origins[e.Field]
	if !ok {
		o, ok = r.below(e.Field)
	}
	if !ok {
		o, _ = r.Origin(e.Field)
	}
	return &Problem{At: o.At, Key: e.Field, Text: fmt.Sprintf("%v: want %s", plain(e.Value), e.Want)}
}

// plain is a value as people write it: integers without an exponent, and something
// where there is nothing.
func plain(v any) any {
	if v == "" {
		return `""`
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return v
}

// below is where the first key of a section was written, in order of their paths.
func (r *Reading) below(section string) (o Origin, ok bool) {
	first := ""
	for path, origin := range r.origins {
		if strings.HasPrefix(path, section+".") && (!ok || path < first) {
			first, o, ok = path, origin, true
		}
	}
	return o, ok
}

// Origin is where the value of a key was written, or the section that it would
// stand in. It is false if nobody wrote either.
func (r *Reading) Origin(path string) (o Origin, ok bool) {
	for path != "" {
		if o, ok = r.origins[path]; ok {
			return o, true
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return o, false
}

// Wrote is whether somebody wrote the key itself.
func (r *Reading) Wrote(path string) bool {
	_, ok := r.origins[path]
	return ok
}

// Err is all that is wrong; nil if nothing is.
func (r *Reading) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

// add notes a problem.
func (r *Reading) add(at, key, text string) {
	r.problems = append(r.problems, &Problem{At: at, Key: key, Text: text})
}

// unknown notes a key that a section does not have.
func (r *Reading) unknown(at string, section reflect.Value, path, key string) {
	full := join(path, excerpt(key))
	if len(r.problems) >= maxProblems { // it is counted, not shown
		r.add(at, full, "unknown key")
		return
	}
	if r.planned(full) {
		r.add(at, full, "not built yet: leave it out")
		return
	}
	text := "unknown key"
	if near := r.suggest(section, path, key); near != "" {
		text += fmt.Sprintf(", did you mean %s?", near)
	}
	where := "at the top"
	if path != "" {
		where = "in " + bracketed(path)
	}
	known := "keys " + where + ": " + strings.Join(names(section), ", ")
	r.problems = append(r.problems, &Problem{At: at, Key: full, Text: text, More: known})
}

// suggest is the key of this name that stands elsewhere, or one of the section that
// is spelt alike.
func (r *Reading) suggest(section reflect.Value, path, key string) string {
	if other := elsewhere(walk(r.into, ""), key); other != "" {
		return other
	}
	if near := setting.Meant(key, names(section)); near != "" {
		return bracketed(join(path, near))
	}
	return ""
}

func elsewhere(keys []Key, name string) string {
	for i := range keys {
		if keys[i].Name() == name {
			return keys[i].Path
		}
		if found := elsewhere(keys[i].Keys, name); found != "" {
			return found
		}
	}
	return ""
}

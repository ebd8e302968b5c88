package jsonrow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// row is what the tests read from a line.
type row struct {
	time   float64
	count  int32
	ids    []uint64
	name   string
	nested int32
}

// scan reads a row as a format's reader would.
func scan(s *Scanner, line []byte, r *row) *Fault {
	s.Reset(line)
	seen := false
	for s.Open(); ; {
		key, ok := s.Key()
		if !ok {
			break
		}
		switch string(key) {
		case "time":
			r.time = s.Time("a time")
		case "count":
			if seen {
				s.Duplicate()
			}
			seen = true
			r.count = s.Count("a count")
		case "ids":
			r.ids = s.Uint64s(r.ids[:0], "an id")
		case "name":
			r.name = string(s.Text("a name"))
		case "in":
			for s.Open(); ; {
				key, ok := s.Key()
				if !ok {
					break
				}
				if string(key) == "n" {
					r.nested = s.Count("a count")
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
	if !seen {
		s.Missing("count", "a count")
	}
	s.Close()
	return s.Fault()
}

func TestOnlyWhatIsExpectedIsRead(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"count":1}`, ""},
		{` { "count" : 12.0 , "time":1.5 } `, ""},
		{`{"count":1e2}`, ""},
		{`{"count":2147483647}`, ""},
		{`{"\u0063ount":1}`, ""},
		{`{"count":1,"other":{"a":[1,{"b":null}],"c":"\ud83d\ude00"},"more":[]}`, ""},
		{`{"count":1,"name":"\u00e4\ud83d\ude00\n\"\/"}`, ""},
		{`{"count":1,"ids":[18446744073709551615,0]}`, ""},
		{`{"count":1,"ids":[]}`, ""},

		{`{}`, "count: nothing, want a count"},
		{`{"count":null}`, "count: null, want a count"},
		{`{"count":"200"}`, `count: "200", want a count`},
		{`{"count":12.7}`, "count: 12.7, want a count"},
		{`{"count":-1}`, "count: -1, want a count"},
		{`{"count":NaN}`, "count: NaN, want a count"},
		{`{"count":2147483648}`, "count: 2147483648, want a count"},
		{`{"count":01}`, "count: 01, want a count"},
		{`{"count":1.}`, "count: 1., want a count"},
		{`{"count":1e}`, "count: 1e, want a count"},
		{`{"count":+1}`, "count: +1, want a count"},
		{`{"count":[1]}`, "count: [1]}, want a count"},
		{`{"count":1,"count":1}`, "count: 1, want the field once"},
		{`{"count":1,"time":1e400}`, "time: 1e400, want a time"},
		{`{"count":1,"time":-3}`, "time: -3, want a time"},
		{`{"count":1,"time":}`, "time: nothing, want a time"},
		{`{"count":1,"in":{"n":-1}}`, "in.n: -1, want a count"},
		{`{"count":1,"in":3}`, "in: 3, want an object in {}"},
		{`{"count":1,"ids":[-1]}`, "ids: -1, want an id"},
		{`{"count":1,"ids":[1.0]}`, "ids: 1.0, want an id"},
		{`{"count":1,"ids":[18446744073709551616]}`, "ids: 18446744073709551616, want an id"},
		{`{"count":1,"ids":["1"]}`, `ids: "1", want an id`},
		{`{"count":1,"ids":[1,]}`, "ids: nothing, want an id"},
		{`{"count":1,"ids":[1 2]}`, "ids: 2, want a comma or ]"},
		{`{"count":1,"ids":7}`, "ids: 7, want an array in []"},
		{`{"count":1,"name":"\ud83d"}`, `name: "\ud83d", want a name`},
		{"{\"count\":1,\"name\":\"a\tb\"}", `name: "a?b", want a name`},
		{"{\"count\":1,\"name\":\"\xff\"}", `name: "?", want valid UTF-8`},
		{`{"count":1,"x":tru}`, "x: tru, want a value"},
		{`{"count":1,"x":{"a" 1}}`, "x: 1, want a colon"},
		{`{"count":1,}`, ": nothing, want a key in quotes"},
		{`{"count":1 "time":2}`, `count: "time", want a comma or }`},
		{`{"count":1}{"count":2}`, `: {"count":2}, want one object on the line`},
		{`{"count":1,"time":2`, "time: the end of the line, want a comma or }"},
		{`{"count":1,"ti`, `: "ti, want a key in quotes`},
		{`[1,2]`, ": [1,2], want an object in {}"},
		{`17`, ": 17, want an object in {}"},
		{``, ": the end of the line, want an object in {}"},
	} {
		var s Scanner
		got := ""
		if f := scan(&s, []byte(c.line), new(row)); f != nil {
			got = fmt.Sprintf("%s: %s, want %s", f.Field, f.Value, f.Want)
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.line, got, c.want)
		}
	}
}

func TestDeepNestingEndsInAFault(t *testing.T) {
	line := []byte(`{"count":1,"x":`)
	for range 100_000 {
		line = append(line, '[')
	}
	var s Scanner
	if f := scan(&s, line, new(row)); f == nil || f.Want != "less deeply nested values" {
		t.Errorf("fault %v", f)
	}
}

func TestTimesAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"1e15":             "",
		"1000000000000001": "milliseconds, at most 1e15",
		"1e300":            "milliseconds, at most 1e15",
		"-1":               "a time",
		"-0":               "",
	} {
		var s Scanner
		s.Reset([]byte(text))
		got := ""
		if s.Time("a time"); s.Fault() != nil {
			got = s.Fault().Want
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestNumbersAreRoundedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		want, err := strconv.ParseFloat(text, 64)
		var s Scanner
		s.Reset([]byte(text))
		got := s.Float("a number")
		if (s.Fault() == nil) != (err == nil) || err == nil && got != want {
			t.Fatalf("%s is %v, want %v", text, got, want)
		}
	})
}

func TestWrittenValuesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := row{
			time:  rapid.Float64Range(0, MaxMs).Draw(t, "time"),
			count: rapid.Int32Min(0).Draw(t, "count"),
			ids:   rapid.SliceOf(rapid.Uint64()).Draw(t, "ids"),
			name:  rapid.String().Draw(t, "name"),
		}
		line := AppendFloat([]byte(`{"time":`), want.time)
		line = strconv.AppendInt(append(line, `,"count":`...), int64(want.count), 10)
		line = appendList(append(line, `,"ids":`...), want.ids)
		line = append(AppendText(append(line, `,"name":`...), want.name), '}')
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		var s Scanner
		var got row
		if f := scan(&s, line, &got); f != nil {
			t.Fatalf("%s: %+v", line, *f)
		}
		if got.time != want.time || got.count != want.count || !slices.Equal(got.ids, want.ids) || got.name != want.name {
			t.Fatalf("%s: read %+v, want %+v", line, got, want)
		}
	})
}

func TestRawValuesStayOnOneLine(t *testing.T) {
	got, err := appendRaw(nil, json.RawMessage("{\n \"a\": [1, 2.50, \"x y\"]\n}"))
	if want := `{"a":[1,2.50,"x y"]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := appendRaw(nil, json.RawMessage(`{"a"`)); err == nil {
		t.Error("half an object was written")
	}
}

// FuzzScanner walks over any line. What is accepted is what encoding/json calls
// valid, text that is not UTF-8 and deep nesting aside.
func FuzzScanner(f *testing.F) {
	for _, line := range []string{
		`{"time":1.5,"count":12.0,"ids":[1,18446744073709551615],"name":"\u00e4\n","in":{"n":1,"m":[{}]}}`,
		`{"a":[1,{"b":null}],"c":"\ud83d\ude00"}`, `{"a":1}{`, `{"a":"\ud83d"}`, `[]`, `{"a":-0.0e+1}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var s Scanner
		scan(&s, line, new(row))

		s.Reset(line)
		type member struct{ key, value []byte }
		var members []member
		for s.Open(); ; {
			key, ok := s.Key()
			if !ok {
				break
			}
			members = append(members, member{slices.Clone(key), s.Raw()})
		}
		s.Close()
		if !utf8.Valid(line) {
			return
		}
		var want map[string]json.RawMessage
		err := json.Unmarshal(line, &want)
		if s.Fault() == nil != (err == nil && want != nil) {
			if s.Fault() == nil || s.Fault().Want != "less deeply nested values" && !halfPair(line) {
				t.Fatalf("%q: fault %+v, encoding/json says %v", line, s.Fault(), err)
			}
			return
		}
		if s.Fault() != nil {
			return
		}
		for i, m := range members {
			last := !slices.ContainsFunc(members[i+1:], func(o member) bool { return string(o.key) == string(m.key) })
			if last && string(want[string(m.key)]) != string(m.value) {
				t.Fatalf("%q: %q is %q, encoding/json says %q", line, m.key, m.value, want[string(m.key)])
			}
		}
	})
}

// halfPair is whether a line has half a surrogate pair, which is JSON but no text.
func halfPair(line []byte) bool {
	for i := range line {
		if line[i] == '\\' {
			return true
		}
	}
	return false
}

func BenchmarkScanRow(b *testing.B) {
	for _, n := range []int{1, 25} {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = uint64(100_000 + i)
		}
		line := appendList([]byte(`{"time": 1234567, "count": 6758, "output": 500, "ids": `), ids)
		line = append(line, '}')
		b.Run(fmt.Sprintf("ids=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var s Scanner
			var r row
			for b.Loop() {
				if f := scan(&s, line, &r); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}

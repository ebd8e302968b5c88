package table

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

const sample = "# a comment\nname,size,note\na,1.5,\n# another\nb,2,x\n"

func read(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Read("t.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Cells are found by the names of columns; lines count comments.
func TestCellsAreReadByColumn(t *testing.T) {
	table := read(t, sample)
	var lines []int
	sum := 0.0
	for r := range table.Rows() {
		lines = append(lines, r.Line())
		sum += r.Number("size") + r.Optional("none") + float64(r.OptionalInt("note2"))
	}
	if table.Len() != 2 || sum != 3.5 || lines[0] != 3 || lines[1] != 5 || !table.Has("note") || table.Has("none") {
		t.Errorf("%d rows, sum %v, lines %v", table.Len(), sum, lines)
	}
	if err := table.Err(); err != nil {
		t.Error(err)
	}
}

func TestWrongCellsAreToldWithTheirPlace(t *testing.T) {
	for _, c := range []struct {
		text string
		read func(*Row)
		want string
	}{
		{sample, func(r *Row) { r.Text("nam") }, "t.csv:3: nam: no such column: want one of name, size, note"},
		{sample, func(r *Row) { r.Number("name") }, `t.csv:3: name: "a": want a finite number`},
		{sample, func(r *Row) { r.Int("size") }, "t.csv:3: size: 1.5: want a whole number"},
		{"x\nNaN\n", func(r *Row) { r.Number("x") }, `t.csv:2: x: "NaN": want a finite number`},
		{"x\n1e300\n", func(r *Row) { r.Int("x") }, "t.csv:2: x: 1e300: want a whole number"},
	} {
		table := read(t, c.text)
		for r := range table.Rows() {
			c.read(r)
			break
		}
		if err := table.Err(); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestTablesThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":            "t.csv: want a header and rows",
		"a,a\n1,2\n":  "t.csv: column a stands twice",
		"a,b\n1\n":    "wrong number of fields",
		"\x1f\x8bxyz": "t.csv:",
	} {
		if _, err := Read("t.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What is wrong is told up to a number of cells, whether the file is plain or gzip.
func TestAtMostTwentyCellsAreTold(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("x\n" + strings.Repeat("wrong\n", 100)))
	z.Close()
	table, err := Read("t.csv.gz", &b)
	if err != nil {
		t.Fatal(err)
	}
	for r := range table.Rows() {
		r.Number("x")
	}
	if n := strings.Count(table.Err().Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Read("t.csv", bytes.NewReader(text))
		if err != nil {
			return
		}
		for r := range table.Rows() {
			for _, column := range table.Header() {
				r.Text(column)
				r.OptionalInt(column)
			}
		}
	})
}

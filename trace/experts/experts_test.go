package experts_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
)

// npy is an .npy file of numbers of width bytes.
func npy(width int, signed bool, shape [3]int, numbers []int64) []byte {
	kind := map[bool]string{true: "i", false: "u"}[signed]
	order := map[bool]string{true: "|", false: "<"}[width == 1]
	head := fmt.Sprintf("{'descr': '%s%s%d', 'fortran_order': False, 'shape': (%d, %d, %d), }", order, kind, width, shape[0], shape[1], shape[2])
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(head)))...)
	file = append(file, head...)
	for _, n := range numbers {
		file = append(file, binary.LittleEndian.AppendUint64(nil, uint64(n))[:width]...)
	}
	return file
}

func anyTable(t *rapid.T, layers, topK int) *experts.Table {
	rows := rapid.IntRange(0, 5).Draw(t, "rows")
	table := experts.NewTable(rows, layers, topK)
	largest := rapid.SampledFrom([]uint16{3, 255, 256, experts.Hole - 1}).Draw(t, "largest")
	for i := range table.IDs {
		table.IDs[i] = rapid.Uint16Range(0, largest).Draw(t, "id")
	}
	return table
}

func TestTablesReadBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		path := experts.Path(filepath.Join(dir, "t.jsonl")) + rapid.SampledFrom([]string{"", ".zst"}).Draw(r, "packed")
		w, err := experts.Create(path)
		if err != nil {
			r.Fatal(err)
		}
		want := map[string]*experts.Table{}
		for i := range rapid.IntRange(0, 4).Draw(r, "tables") {
			key := fmt.Sprintf("s/%d", i)
			want[key] = anyTable(r, 2, 3)
			if err := w.Add(key, want[key]); err != nil {
				r.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			r.Fatal(err)
		}
		f, err := experts.Open(path)
		if err != nil {
			r.Fatal(err)
		}
		defer f.Close()
		if len(f.Keys()) != len(want) {
			r.Fatalf("keys %q, want %d", f.Keys(), len(want))
		}
		for key, table := range want {
			got, err := f.Table(key)
			if err != nil || !slices.Equal(got.IDs, table.IDs) || got.Rows != table.Rows {
				r.Fatalf("%s: %v, %v, want %v", key, got, err, table)
			}
		}
	})
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestAnAbortedFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w, err := experts.Create(filepath.Join(dir, "a"))
	if err == nil {
		err = w.Add("k", experts.NewTable(1, 1, 1))
	}
	if err == nil {
		err = w.Abort()
	}
	if left, _ := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}

func TestTablesOfOneFileHaveOneShape(t *testing.T) {
	w, err := experts.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, c := range []struct {
		key         string
		layers, top int
		want        string
	}{
		{"a", 2, 2, ""},
		{"b", 2, 2, ""},
		{"b", 2, 2, `experts: key "b" is taken`},
		{"c", 2, 1, `key "c": experts: 2 layers × 1 experts, expected 2 × 2`},
	} {
		if err := w.Add(c.key, experts.NewTable(3, c.layers, c.top)); fmt.Sprint(err) != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: %v, want %s", c.key, err, c.want)
		}
	}
}

// A prompt takes the experts of what it keeps from the call that it extends; its own
// rows begin where that call's end.
func TestAPromptHasTheExpertsOfWhatItExtends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t"+experts.Suffix)
	w, err := experts.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	add := func(key string, ids ...uint16) {
		if err := w.Add(key, &experts.Table{Rows: len(ids), Layers: 1, TopK: 1, IDs: ids}); err != nil {
			t.Fatal(err)
		}
	}
	add("a", 10, 11, 12, 13)
	add("b", 24, 0, 26)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := experts.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	node := func(id string, in, out, extends, keep int32, e *trace.Experts) trace.Node {
		return trace.Node{ID: id, InputTokens: in, OutputTokens: out, Extends: extends, Keep: keep, Details: &trace.Details{Experts: e}}
	}
	task := &trace.Task{Nodes: []trace.Node{
		node("a", 3, 2, -1, 0, &trace.Experts{Key: "a"}),
		node("b", 6, 2, 0, 5, &trace.Experts{Key: "b", From: 4, Holes: [][2]int32{{5, 6}}}),
		node("c", 3, 2, 1, 2, nil),
		node("d", 1, 1, -1, 0, nil),
		node("e", 2, 2, -1, 0, &trace.Experts{Key: "a"}),
	}}
	const hole = experts.Hole
	for i, want := range [][]uint16{{10, 11, 12, 13}, {10, 11, 12, 13, 24, hole, 26}, {10, 11, hole, hole}, nil} {
		whole, err := f.Whole(task, i)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint16
		if whole != nil {
			got = whole.IDs
		}
		if !slices.Equal(got, want) {
			t.Errorf("node %d: %v, want %v", i, got, want)
		}
		if i == 1 && (whole.Known() != 6 || !slices.Equal(whole.Holes(0), [][2]int32{{5, 6}})) {
			t.Errorf("%d known, holes %v", whole.Known(), whole.Holes(0))
		}
	}
	if _, err := f.Whole(task, 4); err == nil || err.Error() != "node e: experts of positions 0 to 4, expected 3 positions" {
		t.Error(err)
	}
}

func TestNPYFilesOfAllWidths(t *testing.T) {
	for _, c := range []struct {
		width   int
		signed  bool
		numbers []int64
		want    []uint16
	}{
		{1, false, []int64{0, 255}, []uint16{0, 255}},
		{1, true, []int64{-1, 127}, []uint16{experts.Hole, 127}},
		{2, false, []int64{256, 1}, []uint16{256, 1}},
		{2, true, []int64{-1, 300}, []uint16{experts.Hole, 300}},
		{4, false, []int64{2, 1000}, []uint16{2, 1000}},
		{4, true, []int64{-5, 1000}, []uint16{experts.Hole, 1000}},
	} {
		got, err := experts.DecodeNPY(npy(c.width, c.signed, [3]int{1, 2, 1}, c.numbers))
		if err != nil || !slices.Equal(got.IDs, c.want) {
			t.Errorf("%d bytes, signed %v: %v, %v, want %v", c.width, c.signed, got, err, c.want)
		}
	}
	for name, file := range map[string][]byte{
		"cut":          npy(1, false, [3]int{1, 2, 1}, []int64{0}),
		"too large":    npy(4, false, [3]int{1, 1, 1}, []int64{70000}),
		"one side":     bytes.Replace(npy(1, false, [3]int{1, 1, 1}, []int64{0}), []byte("(1, 1, 1)"), []byte("(1,)     "), 1),
		"floats":       bytes.Replace(npy(4, false, [3]int{1, 1, 1}, []int64{0}), []byte("<u4"), []byte("<f4"), 1),
		"by columns":   bytes.Replace(npy(1, false, [3]int{1, 1, 1}, []int64{0}), []byte("False"), []byte("True "), 1),
		"not an array": []byte("hello"),
	} {
		if got, err := experts.DecodeNPY(file); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

func FuzzDecodeNPY(f *testing.F) {
	f.Add(npy(2, false, [3]int{2, 1, 2}, []int64{1, 2, 3, 4}))
	f.Add(npy(1, true, [3]int{0, 4, 8}, nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := experts.DecodeNPY(file)
		if err == nil && len(got.IDs) != got.Rows*got.Layers*got.TopK {
			t.Fatalf("%d ids in %d × %d × %d", len(got.IDs), got.Rows, got.Layers, got.TopK)
		}
	})
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"plain", "packed.zst"} {
		path := filepath.Join(f.TempDir(), name)
		w, err := experts.Create(path)
		if err == nil {
			err = w.Add("k", experts.NewTable(2, 1, 2))
		}
		if err == nil {
			err = w.Close()
		}
		file, err2 := os.ReadFile(path)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := experts.Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		for _, key := range r.Keys() {
			if table, err := r.Table(key); err == nil && len(table.IDs) != table.Rows*table.Layers*table.TopK {
				t.Fatalf("%s: %d ids", key, len(table.IDs))
			}
		}
	})
}

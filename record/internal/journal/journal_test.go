package journal

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// disk is a file of which only the first bytes have room.
type disk struct {
	bytes []byte
	room  int
}

var errFull = errors.New("no space left on device")

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	n := min(len(p), max(0, d.room-int(off)))
	d.bytes = append(d.bytes[:off], p[:n]...)
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Truncate(size int64) error { d.bytes = d.bytes[:size]; return nil }
func (d *disk) Sync() error               { return nil }
func (d *disk) Close() error              { return nil }

func call(seq int64) *Entry { return &Entry{Call: &Call{Seq: seq, Outcome: Done}} }

// When the disk is full entries are dropped whole, and as soon as there is room the
// journal says how many.
func TestAFullDiskIsSurvivedAndTold(t *testing.T) {
	d := &disk{room: 1 << 20}
	w := newWriter(d, &disk{})
	w.Append(&Entry{Start: &Start{Schema: Schema, Version: Version}})
	w.Append(call(1))
	d.room = len(d.bytes) + 10
	if w.Append(call(2)) || w.Append(call(3)) {
		t.Fatal("what does not fit is said to be written")
	}
	if _, ok := w.Blob([]byte("x")); ok {
		t.Fatal("a blob that does not fit is said to be written")
	}
	d.room = 1 << 20
	if !w.Append(call(4)) {
		t.Fatal("there is room again")
	}
	j, err := Read(strings.NewReader(string(d.bytes)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{*call(1), {Lost: &Lost{Entries: 3, Why: errFull.Error()}}, *call(4)}
	if !reflect.DeepEqual(j.Entries, want) || j.Torn != 0 {
		t.Errorf("%+v", j)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestEntriesLostAtTheEndMakeClosingFail(t *testing.T) {
	d := &disk{room: 1 << 20}
	w := newWriter(d, &disk{})
	w.Append(&Entry{Start: &Start{}})
	d.room = 0
	w.Append(call(1))
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestAJournalIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := Create(path, &Start{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, &Start{}); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v: others may read it", info.Mode(), err)
	}
}

// However a journal is cut, what was written before the cut is there.
func TestACutJournalHasItsWholeLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{room: 1 << 20}
		w := newWriter(d, &disk{})
		w.Append(&Entry{Start: &Start{Schema: Schema, Version: Version}})
		var ends []int
		for seq := range rapid.Int64Range(1, 5).Draw(t, "calls") {
			w.Append(call(seq))
			ends = append(ends, len(d.bytes))
		}
		start := strings.IndexByte(string(d.bytes), '\n') + 1
		cut := rapid.IntRange(start, len(d.bytes)).Draw(t, "cut")
		whole := 0
		for _, end := range ends {
			if end-1 <= cut { // the line end itself may be missing
				whole++
			}
		}
		j, err := Read(strings.NewReader(string(d.bytes[:cut])))
		if err != nil || len(j.Entries) != whole || j.Torn > 1 {
			t.Fatal(err, j, whole)
		}
	})
}

func TestSecretsAreStarsWhereverTheyStand(t *testing.T) {
	d := &disk{room: 1 << 20}
	w := newWriter(d, &disk{})
	e := &Entry{Call: &Call{Seq: 1, Body: 1234567890123, Error: `a "quoted" secret, EMPTY`}}
	w.Append(e, `"quoted" secret`, "4567890123", "EMPTY")
	if got := string(d.bytes); strings.Contains(got, "secret") || strings.Contains(got, "4567890123") || !strings.Contains(got, "EMPTY") {
		t.Error(got)
	}
	if _, ok := parse(d.bytes); !ok {
		t.Errorf("no entry any more: %s", d.bytes)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"start":{"schema":"reprise.journal","version":1}}` + "\n" + `{"begin":{"seq":1,"ms":0}}` + "\n" + `{"call":{"seq":1`)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := Read(strings.NewReader(text))
		if err == nil && len(j.Entries)+j.Torn > strings.Count(text, "\n")+1 {
			t.Fatalf("%d entries of %q", len(j.Entries), text)
		}
	})
}

package keys_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/setting"
)

// house is a settings struct with everything that settings structs have.
type house struct {
	Name   string    `yaml:"name" json:"name" doc:"what it is called"`
	Floors int       `yaml:"floors" json:"floors"`
	Height float64   `yaml:"height" json:"height"`
	Lift   bool      `yaml:"lift" json:"lift"`
	Number uint64    `yaml:"number" json:"number"`
	Rooms  []string  `yaml:"rooms" json:"rooms"`
	Sizes  []float64 `yaml:"sizes" json:"sizes"`
	Owner  *string   `yaml:"owner" json:"owner"`
	Garden garden    `yaml:"garden" json:"garden"`
	Shed   *garden   `yaml:"shed" json:"shed"`
	Roof   `yaml:",inline"`
}

type garden struct {
	Trees int    `yaml:"trees" json:"trees"`
	Fence fence  `yaml:"fence" json:"fence"`
	Kind  string `yaml:"kind" json:"kind" enum:"flat,steep"`
}

type fence struct {
	Height float64 `yaml:"height" json:"height"`
}

// Roof is inlined.
type Roof struct {
	Tiles int `yaml:"tiles" json:"tiles"`
}

func built() house {
	return house{Name: "home", Floors: 2, Height: 7.5, Lift: true, Rooms: []string{"hall", "bath"}, Sizes: []float64{1, 2},
		Garden: garden{Trees: 3, Fence: fence{1.5}, Kind: "flat"}, Roof: Roof{400}}
}

// check is what the house finds wrong with itself.
func (h *house) check() error {
	var p setting.Problems
	p.Check(h.Floors > 0, "floors", h.Floors, "at least 1")
	p.Check(h.Garden.Trees >= 0, "garden.trees", h.Garden.Trees, "at least 0")
	p.Check(h.Garden.Fence.Height < 1e6, "garden.fence.height", h.Garden.Fence.Height, "below a million")
	return p.Err()
}

// TestReading tells what comes of a text. Lines that begin with --set are
// arguments, the others are a file; what is printed is the difference from the
// defaults, or the problems.
func TestReading(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			var file strings.Builder
			var arguments []string
			for line := range strings.Lines(td.Input) {
				if argument, ok := strings.CutPrefix(line, "--set "); ok {
					arguments = append(arguments, strings.TrimSuffix(argument, "\n"))
				} else {
					file.WriteString(line)
				}
			}
			h, err := read(file.String(), arguments...)
			if err != nil {
				return err.Error()
			}
			return difference(h)
		})
	})
}

// read reads a house.
func read(file string, arguments ...string) (*house, error) {
	h := built()
	r := keys.Read(&h, func(path string) bool { return path == "garden.pond" })
	d, err := keys.Parse("house.yaml", []byte(file))
	if err != nil {
		return nil, err
	}
	r.Document(d)
	for _, a := range arguments {
		r.Set(a)
	}
	r.Check(h.check())
	return &h, r.Err()
}

// difference is the top keys that are not as built.
func difference(h *house) string {
	var now, before map[string]json.RawMessage
	for _, v := range []struct {
		house house
		into  *map[string]json.RawMessage
	}{{*h, &now}, {built(), &before}} {
		text, err := json.Marshal(v.house)
		if err != nil {
			return err.Error()
		}
		if err := json.Unmarshal(text, v.into); err != nil {
			return err.Error()
		}
	}
	var b strings.Builder
	for _, k := range keys.Walk(built()) {
		if string(now[k.Path]) != string(before[k.Path]) {
			fmt.Fprintf(&b, "%s: %s\n", k.Path, now[k.Path])
		}
	}
	if b.Len() == 0 {
		return "as built"
	}
	return b.String()
}

func TestNumbersKeepEveryBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64().Draw(t, "height")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []func() (*house, error){
			func() (*house, error) { return read(fmt.Sprintf("height: %s", text)) },
			func() (*house, error) { return read(fmt.Sprintf(`{"height": %s}`, text)) },
			func() (*house, error) { return read("", fmt.Sprintf("height=%s", text)) },
		} {
			h, err := how()
			if err != nil || math.Float64bits(h.Height) != math.Float64bits(want) {
				t.Fatalf("%s was read as %v, %v", text, h, err)
			}
		}
	})
}

func TestInfinityIsANumber(t *testing.T) {
	h, err := read("height: .inf")
	if err != nil || !math.IsInf(h.Height, 1) {
		t.Fatalf("%+v, %v", h, err)
	}
}

func TestOriginsLeadToTheLastWriter(t *testing.T) {
	h := built()
	r := keys.Read(&h, nil)
	d, err := keys.Parse("dir/house.yaml", []byte("rooms: [a, b]\ngarden:\n  trees: 5\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.Document(d)
	r.Give("--rooms", "rooms", []string{"c", "d"})
	for path, want := range map[string]keys.Origin{
		"rooms.1":             {At: "--rooms"},
		"garden.trees":        {At: "dir/house.yaml:3:10", Dir: "dir"},
		"garden.fence.height": {At: "dir/house.yaml:3:3", Dir: "dir"},
		"floors":              {},
	} {
		if got, _ := r.Origin(path); got != want {
			t.Errorf("%s was written at %+v, want %+v", path, got, want)
		}
	}
}

func TestALongListOfProblemsIsCut(t *testing.T) {
	var file strings.Builder
	for i := range 30 {
		fmt.Fprintf(&file, "key%d: 1\n", i)
	}
	_, err := read(file.String())
	if text := err.Error(); !strings.Contains(text, "30 problems") || !strings.Contains(text, "key19:") ||
		strings.Contains(text, "key20:") || !strings.HasSuffix(text, "and 10 more") {
		t.Fatal(text)
	}
}

func TestALongKeyIsCut(t *testing.T) {
	_, err := read(strings.Repeat("k", 1<<16) + ": 1")
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "kkk…: unknown key") {
		t.Fatalf("%.400v", err)
	}
}

// TestLongListsAreRead would take hours if every item looked at all the others.
func TestLongListsAreRead(t *testing.T) {
	const n = 400_000
	h, err := read("rooms: [" + strings.Repeat("a,", n) + "]")
	if err != nil || len(h.Rooms) != n {
		t.Fatal(len(h.Rooms), err)
	}
}

func TestAByteOrderMarkIsNoPartOfTheFirstKey(t *testing.T) {
	h, err := read("\ufefffloors: 3")
	if err != nil || h.Floors != 3 {
		t.Fatal(h, err)
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	for _, text := range []string{"\xff\xfef\x00l\x00", "name: caf\xe9"} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), "house.yaml: not UTF-8: want") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	for _, deep := range []string{"a: " + strings.Repeat("[", 1<<20), "a:\n  " + strings.Repeat("- ", 1<<20)} {
		if _, err := read(deep); err == nil || !strings.Contains(err.Error(), "more than 256 brackets or lists are open") {
			t.Errorf("%.20s…: %v", deep, err)
		}
	}
}

// FuzzReading: a text is read or refused, and what was read says the same again.
func FuzzReading(f *testing.F) {
	for _, seed := range []string{"", "name: x\nfloors: 3", "garden: {fence: {height: 1e3}}", "shed: &s {trees: 1}\ngarden: *s", "rooms: x",
		"a: *a", "x: &x [*x]", "? a", "name: |\n  text\n", "--- \n...\n---", "{\"number\": 18446744073709551615}", "shed:\n"} {
		f.Add(seed, "garden.trees=4")
	}
	f.Fuzz(func(t *testing.T, file, argument string) {
		h, err := read(file, argument)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		text, err := json.Marshal(h)
		if err != nil {
			return // JSON has no infinity
		}
		again, err := read(string(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if back, _ := json.Marshal(again); string(back) != string(text) {
			t.Fatalf("%s came back as %s", text, back)
		}
	})
}

package setting

import (
	"slices"
	"testing"
)

func TestNearestNamesStandFirst(t *testing.T) {
	names := []string{"spill", "strict_input_length", "round_robin"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"strict", []string{"strict_input_length", "spill", "round_robin"}}, // begins with it
		{"spil", []string{"spill", "round_robin", "strict_input_length"}},
		{"roundrobin", []string{"round_robin", "spill", "strict_input_length"}},
		{"", []string{"spill", "round_robin", "strict_input_length"}}, // nothing is near: short ones first
	} {
		if got := Nearest(c.word, names); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.word, got, c.want)
		}
	}
	for _, c := range []struct {
		word, name string
		want       int
	}{{"kitten", "sitting", 3}, {"abc", "abcd", 0}, {"abcd", "abc", 1}, {"abc", "", 3}, {"flaw", "lawn", 2}} {
		if got := apart(c.word, c.name); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.word, c.name, got, c.want)
		}
	}
}

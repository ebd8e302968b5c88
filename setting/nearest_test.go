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
	}{{"kitten", "sitting", 3}, {"abc", "abcd", 0}, {"abcd", "abc", 1}, {"abc", "", 3}, {"flaw", "lawn", 2}, {"sede", "seed", 1}} {
		if got := apart(c.word, c.name); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.word, c.name, got, c.want)
		}
	}
}

func TestTheNameThatSomebodyMeantIsNear(t *testing.T) {
	known := []string{"block_size", "num_gpu_blocks", "max_num_seqs", "seed"}
	for misspelt, want := range map[string]string{
		"blok_size": "block_size", "block-size": "block_size", "num_gpu_block": "num_gpu_blocks", "max_num_seq": "max_num_seqs",
		"sede": "seed", "max": "max_num_seqs", "temperature": "", "x": "", "se": "", "sed": "seed", "ed": "",
	} {
		if got := Meant(misspelt, known); got != want {
			t.Errorf("%s: did you mean %q, want %q", misspelt, got, want)
		}
	}
}

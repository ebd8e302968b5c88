package setting

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest sorts names by how like they are to a word, the nearest first: those that
// begin with it, then those with the fewest letters to change; ties by name.
func Nearest(word string, names []string) []string {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(apart(word, a), apart(word, b)), cmp.Compare(a, b))
	})
	return sorted
}

// apart is how many letters have to be inserted, deleted or replaced to turn a word
// into a name (Levenshtein distance), 0 if the name begins with the word.
func apart(word, name string) int {
	if word != "" && strings.HasPrefix(name, word) {
		return 0
	}
	row := make([]int, len(name)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(word) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(name) {
			change := diagonal
			if word[i] != name[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(name)]
}

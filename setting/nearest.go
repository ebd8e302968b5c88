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

// Meant is the name that a misspelt one most likely stands for: one that it begins,
// else the one with the fewest letters to change; "" if more than a third of them and
// more than two would have to change, or all of them.
func Meant(misspelt string, names []string) string {
	best, bestDistance := "", min(max(3, len(misspelt)/3+1), len(misspelt))
	for _, name := range names {
		d := distance(misspelt, name)
		if len(misspelt) > 2 { // two letters begin too many names
			d = apart(misspelt, name)
		}
		if d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// apart is the distance of a word from a name, 0 if the name begins with the word.
func apart(word, name string) int {
	if word != "" && strings.HasPrefix(name, word) {
		return 0
	}
	return distance(word, name)
}

// distance is how many letters have to be inserted, deleted, replaced or swapped
// with a neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

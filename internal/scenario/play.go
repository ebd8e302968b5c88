// Package scenario plays the stories of a room's tests: text files of commands and
// answers (github.com/cockroachdb/datadriven), in a language that the room defines.
//
// A [Language] has a function for each command; [Play] reads files and compares the
// answers. It knows no room, and nothing but tests may use it.
package scenario

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Language is what can be told in the stories about an S: a function for each
// command, which returns the answer.
type Language[S any] map[string]func(S, *testing.T, *datadriven.TestData) string

// Checked is a story that has laws of its own, which hold behind every command.
type Checked interface {
	Check() error
}

// Play plays the files that match the pattern, each as a subtest with a story of its
// own, which begin returns. A pattern that nothing matches is an error. The flag
// -rewrite of datadriven writes answers down.
func Play[S any](t *testing.T, pattern string, language Language[S], begin func() S) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories in %s: %v", pattern, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := begin()
			datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
				tell, known := language[td.Cmd]
				if !known {
					td.Fatalf(t, "unknown command %q", td.Cmd)
				}
				answer := tell(s, t, td)
				if c, ok := any(s).(Checked); ok {
					if err := c.Check(); err != nil {
						td.Fatalf(t, "%v", err)
					}
				}
				return answer
			})
		})
	}
}

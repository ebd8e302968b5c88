package docs_test

import (
	"strings"
	"testing"
)

// The code that routers.md shows is the code of an example that runs.
func TestTheRouterOfThePageRuns(t *testing.T) {
	code := page(t, "../routing/example_router_test.go")
	shown := strings.Split(page(t, "routers.md"), "\n```go\n")[1:]
	if len(shown) < 3 {
		t.Errorf("%d pieces of code", len(shown))
	}
	for _, piece := range shown {
		if piece, _, _ = strings.Cut(piece, "\n```"); !strings.Contains(code, piece) {
			t.Errorf("the example does not have\n%s", piece)
		}
	}
}

package serve_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/serve"
)

var update = flag.Bool("update", false, "write the answers of docs/serve.md")

//go:generate go test -run ^TestThePageShowsWhatTheServerAnswers$ -update

// The requests of docs/serve.md, one after the other, have the answers that stand
// behind them.
func TestThePageShowsWhatTheServerAnswers(t *testing.T) {
	const file = "../docs/serve.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	synctest.Test(t, func(t *testing.T) {
		c, err := config.Load(config.Sources{File: "../examples/serve.yaml", Served: true})
		if err != nil {
			t.Fatal(err)
		}
		r := begin(t, 1, c, serve.Options{Model: "simulated", Seed: uint64(c.Seed), OutputTokens: 256})
		defer r.stop(t)
		seen := 0
		for _, part := range strings.Split(page, "\n```http\n")[1:] {
			request, rest, _ := strings.Cut(part, "\n```\n")
			line, body, _ := strings.Cut(request, "\n")
			method, path, _ := strings.Cut(line, " ")
			w := r.ask(t.Context(), method, path, body, nil)
			shown, _, _ := strings.Cut(strings.TrimPrefix(rest, "\n```json\n"), "\n```\n")
			seen++
			if got := strings.TrimSpace(w.Body.String()); got != shown {
				page = strings.Replace(page, "```json\n"+shown+"\n```\n", "```json\n"+got+"\n```\n", 1)
				if !*update {
					t.Errorf("%s is answered by %d %s", request, w.Code, got)
				}
			}
		}
		if seen == 0 {
			t.Error("the page shows no request")
		}
	})
	if *update && page != string(text) {
		if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

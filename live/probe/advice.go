package probe

import (
	"net/http"
	"strings"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
)

// remedies are what makes a way work, by what the server answers without it
// (spec/vllm-cpu-live.md 4, 5). The first that fits counts.
var remedies = []struct {
	mode   string
	status int    // 0: any, also an answer that differs
	text   string // part of what the server says
	advice string
}{
	{"native", 0, "--enable-scale-out", "start the server with --enable-scale-out"},
	{"native", http.StatusForbidden, "", "start the server with --enable-scale-out"},
	{"native", 0, "trace replay", "start the server with --enable-trace-replay, on Model Runner V2"},
	{"native", 0, "trace_decode_token_ids", "start the server with --enable-trace-replay, on Model Runner V2"},
	{"native", http.StatusNotFound, "", "vLLM 0.31 or newer has it, with --enable-scale-out --enable-trace-replay"},
	{"plugin", 0, "V1 runner", "this server has native replay: start it with --enable-scale-out --enable-trace-replay"},
	{"plugin", 0, "", "install the package of integrations/vllm in the server"},
}

// advice is what would make a way work; f is nil if the answer only differs.
func advice(m force.Mode, f *wire.Failure) string {
	for _, r := range remedies {
		switch {
		case r.mode != m.Name():
		case f == nil && r.status == 0 && r.text == "":
			return r.advice
		case f != nil && (r.status == 0 || r.status == f.Status) && strings.Contains(f.Detail, r.text):
			return r.advice
		}
	}
	return ""
}

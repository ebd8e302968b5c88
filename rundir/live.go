package rundir

import (
	"slices"

	"github.com/reprise-sim/reprise/metrics"
)

// KindLive is the value of [Info].Kind for a run on real servers.
const KindLive = "live"

// Live is what run.json says of a run on real servers beside what every run says.
type Live struct {
	Run         string   `json:"run"` // names the run: part of request ids and cache salts
	Force       string   `json:"force"`
	Level       int      `json:"level"` // of fidelity, 4 to 0 (spec/live.md B.4)
	Experts     string   `json:"experts"`
	Targets     []Target `json:"targets"`
	Repetition  int      `json:"repetition"` // from 1
	Repetitions int      `json:"repetitions"`
	WarmupTasks int      `json:"warmup_tasks"` // replayed before the clock started, in no figure
}

// Target is a server as it described itself when it was probed.
type Target struct {
	URL         string `json:"url"`
	Server      string `json:"server,omitempty"`
	Model       string `json:"model"`
	MaxModelLen int    `json:"max_model_len,omitempty"`
}

// Verdict is whether a call did what was recorded.
type Verdict uint8

const (
	Unverified Verdict = iota // nothing was forced, or it did not get that far
	Faithful
	Unfaithful
)

var verdictNames = [...]string{Unverified: "", Faithful: "true", Unfaithful: "false"}

// LiveCall is what is known of a call on a real server beside its row. Times are ms
// of the run, as in the row, durations are ms, NaN if unknown.
type LiveCall struct {
	Target   string
	Attempts int32
	// LagMs is from the instant at which the call was due to its first attempt.
	LagMs float64
	// WrittenMs is when the last byte of the request was handed to the network,
	// FirstByteMs when the first byte of the answer came.
	WrittenMs, FirstByteMs float64
	// Chunks is how many pieces of the stream held tokens. The times of tokens inside
	// a piece are unknown.
	Chunks int32
	// What the server says: the wait before its scheduler took the call, from then to
	// the first token, and from there to the last (spec/live.md A.9).
	ServerQueueMs, ServerPrefillMs, ServerDecodeMs float64
	// ModelMs is the time that the model took: the last two together or, if the server
	// does not say, from sending to the last token (spec/live.md F.4).
	ModelMs  float64
	Faithful Verdict
}

// liveColumns stand behind the others in live runs.
var liveColumns = []column{
	{"target", func(r *Record) any { return &r.Live.Target }},
	{"attempts", func(r *Record) any { return &r.Live.Attempts }},
	{"lag_ms", func(r *Record) any { return &r.Live.LagMs }},
	{"written_ms", func(r *Record) any { return &r.Live.WrittenMs }},
	{"first_byte_ms", func(r *Record) any { return &r.Live.FirstByteMs }},
	{"chunks", func(r *Record) any { return &r.Live.Chunks }},
	{"server_queue_ms", func(r *Record) any { return &r.Live.ServerQueueMs }},
	{"server_prefill_ms", func(r *Record) any { return &r.Live.ServerPrefillMs }},
	{"server_decode_ms", func(r *Record) any { return &r.Live.ServerDecodeMs }},
	{"model_ms", func(r *Record) any { return &r.Live.ModelMs }},
	{"faithful", func(r *Record) any { return &r.Live.Faithful }},
}

// LiveColumns are the names of the columns that only live runs have.
func LiveColumns() (names []string) {
	for i := range liveColumns {
		names = append(names, liveColumns[i].name)
	}
	return names
}

// LiveRequests starts per_request.csv with the columns of a live run.
func (d *Draft) LiveRequests(r Routing) (*Requests, error) {
	return d.requests(r, slices.Concat(columns, liveColumns))
}

// AddLive writes the line of a row of a live run; the row is not kept, the call is.
func (w *Requests) AddLive(r *metrics.Row, call *LiveCall) error { return w.add(r, call) }

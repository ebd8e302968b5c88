package rundir

import (
	"strings"

	"github.com/reprise-sim/reprise/metrics"
)

// Record is a line of per_request.csv. Tokens' times and the number of admissions
// are not in the file: a record that was read has at most one admission.
type Record struct {
	metrics.Row
	BucketName                string // "" if it was sent to none
	BucketPolicy, LocalPolicy string // what routed it

	// The parts of its latency, in ms: they follow from the row.
	QueueMs, PrefillMs, TTFTMs, TPOTMs, E2EMs float64

	Live *LiveCall // nil in a simulation
}

// column is a cell of a line: its name and where its value is in a record.
type column struct {
	name  string
	value func(*Record) any
}

// columns are those of DESIGN.md 7 and spec/buckets.md 8, in order.
var columns = []column{
	{"request_id", func(r *Record) any { return &r.Request }},
	{"task_id", func(r *Record) any { return &r.Task }},
	{"session_id", func(r *Record) any { return &r.Session }},
	{"turn", func(r *Record) any { return &r.Turn }},
	{"source_line", func(r *Record) any { return &r.Line }},
	{"status", func(r *Record) any { return &r.Status }},
	{"reason", func(r *Record) any { return &r.Reason }},
	{"bucket", func(r *Record) any { return &r.BucketName }},
	{"instance", func(r *Record) any { return (*optional)(&r.Instance) }},
	{"rank", func(r *Record) any { return (*optional)(&r.Rank) }},
	{"arrival_ms", func(r *Record) any { return &r.ArrivalMs }},
	{"submit_ms", func(r *Record) any { return &r.SubmitMs }},
	{"first_admit_ms", func(r *Record) any { return &r.AdmitMs }},
	{"first_token_ms", func(r *Record) any { return &r.FirstMs }},
	{"second_token_ms", func(r *Record) any { return &r.SecondMs }},
	{"last_token_ms", func(r *Record) any { return &r.LastMs }},
	{"end_ms", func(r *Record) any { return &r.EndMs }},
	{"input_tokens", func(r *Record) any { return &r.InputTokens }},
	{"output_tokens", func(r *Record) any { return &r.OutputTokens }},
	{"requested_output_tokens", func(r *Record) any { return &r.RequestedTokens }},
	{"cached_tokens", func(r *Record) any { return (*optional)(&r.CachedTokens) }},
	{"cached_tokens_max", func(r *Record) any { return (*optional)(&r.CachedMax) }},
	{"preemptions", func(r *Record) any { return &r.Preemptions }},
	{"queue_ms", func(r *Record) any { return &r.QueueMs }},
	{"prefill_ms", func(r *Record) any { return &r.PrefillMs }},
	{"ttft_ms", func(r *Record) any { return &r.TTFTMs }},
	{"tpot_ms", func(r *Record) any { return &r.TPOTMs }},
	{"e2e_ms", func(r *Record) any { return &r.E2EMs }},
	{"bucket_policy", func(r *Record) any { return &r.BucketPolicy }},
	{"local_policy", func(r *Record) any { return &r.LocalPolicy }},
	{"length_bucket_match", func(r *Record) any { return &r.Tiers.LengthMatch }},
	{"bucket_predicted_prefix", func(r *Record) any { return (*optional)(&r.Tiers.PredictedPrefix) }},
	{"l0_blocks", func(r *Record) any { return (*optional)(&r.Tiers.L0) }},
	{"l1_blocks", func(r *Record) any { return (*optional)(&r.Tiers.L1) }},
	{"remote_blocks", func(r *Record) any { return (*optional)(&r.Tiers.Remote) }},
	{"miss_blocks", func(r *Record) any { return (*optional)(&r.Tiers.Miss) }},
	{"remote_stale_blocks", func(r *Record) any { return (*optional)(&r.Tiers.RemoteStale) }},
	{"load_wait_ms", func(r *Record) any { return &r.Tiers.LoadWaitMs }},
}

// header is the first line of a file.
func header(columns []column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return strings.Join(names, ",") + "\n"
}

// complete fills in what follows from the row and marks what a row without an
// instance or an admission does not have.
func (r *Record) complete() {
	r.QueueMs, r.PrefillMs = r.Row.QueueMs(), r.Row.PrefillMs()
	r.TTFTMs, r.TPOTMs, r.E2EMs = r.Row.TTFTMs(), r.Row.TPOTMs(), r.Row.E2EMs()
	if r.Instance < 0 {
		r.Rank = -1
	}
	if r.Admissions == 0 {
		r.CachedTokens, r.CachedMax = -1, -1
	}
}

// appendTo appends the record's line.
func (r *Record) appendTo(c *cells) {
	r.complete()
	c.begin()
	for i := range columns {
		c.append(columns[i].value(r))
	}
	if r.Live != nil {
		for i := range liveColumns {
			c.append(liveColumns[i].value(r))
		}
	}
	c.end()
}

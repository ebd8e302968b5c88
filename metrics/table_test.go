package metrics

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var rewrite = flag.Bool("rewrite-tables", false, "write the golden tables anew")

func TestTables(t *testing.T) {
	yes, no := true, false
	for name, s := range map[string]*Summary{
		"full": {
			LatencyModel: "polynomial (not a hardware prediction)",
			Accounting: Accounting{InTrace: 12040, NotReleased: 3, Offered: 12037, Completed: 12031, Rejected: 3, Failed: 1, Cancelled: 1, Unfinished: 1,
				Reasons: map[string]map[Reason]int64{
					"not_released": {Interrupted: 3}, "rejected": {EmptyPrompt: 1, NeedsBlocks: 2}, "failed": {PredecessorFailed: 1},
					"cancelled": {ClientCancelled: 1}, "unfinished": {Interrupted: 1}}},
			DurationMs: 3542944.09, RequestRate: 3.3958, InputRate: 40874.2, OutputRate: 1162.16,
			Goodput:    &Goodput{SLA: *bounds(500, 50, 0), Completed: 11000, RequestRate: 3.105, OutputRate: 1070.7},
			ReuseRatio: 0.08174359758, FirstReuse: 0.0817,
			Latencies: Latencies{
				TTFT: Distribution{12031, 321.136, 12.5, 1e300, 260, 400, 600.25, 800, 12345.6, 250},
				TPOT: Distribution{12000, 21.5, 1, 80, 20, 22, 25, 30, 55.123, 5},
				ITL:  Distribution{4117000, 21.4, 0, 300, 20, 22, 25, 30, 60, 8},
				E2E:  Distribution{12031, 7650, 15, 45000, 7000, 9000, 12000, 15000, 30000, 4000},
			},
			Preemptions: 17,
			Saturation:  Saturation{State: &no, Reason: "the queue was 1.0, 1.2 and 1.1 requests long in the last three quarters"},
		},
		"nothing": tallied(t, Setup{}, Run{LatencyModel: "fixed: prefill 10 ms, decode 2 ms (not a hardware prediction)"}),
		"buckets": {
			LatencyModel: "polynomial (speedup 1)",
			Accounting: Accounting{InTrace: 12031, Offered: 12031, Completed: 11967, Rejected: 64,
				Reasons: map[string]map[Reason]int64{"rejected": {NoBucket: 63, EmptyPrompt: 1}}},
			Latencies: Latencies{undefined(), undefined(), undefined(), undefined(), undefined(), undefined()},
			PerBucket: []BucketSummary{
				{
					Name: "short", Requests: 12345678, Completed: 123456789, Rejected: 12345678,
					Latencies: Latencies{TTFT: Distribution{Mean: 123456789, P99: 223456789}, TPOT: Distribution{Mean: 323456789}, E2E: Distribution{Mean: 423456789, P99: 523456789}},
					L0Blocks:  100, L1Blocks: 20, RemoteBlocks: 30, MissBlocks: 850, RemoteStaleBlocks: 3, LoadWaitMs: 12345678,
					LengthMatchRate: 1, Utilisation: 0.8965,
				},
				{
					Name: "medium-up-to-32768-tokens", Requests: 4583, Completed: 4583,
					Latencies:  Latencies{TTFT: Distribution{Mean: 618.6, P99: 1832}, TPOT: Distribution{Mean: 20.63}, E2E: Distribution{Mean: 6828, P99: 21388}},
					MissBlocks: 1000, LengthMatchRate: 0.75, Utilisation: 0.5,
				},
				{
					Name: "nobody", Latencies: Latencies{undefined(), undefined(), undefined(), undefined(), undefined(), undefined()},
					L0Blocks: math.NaN(), L1Blocks: math.NaN(), RemoteBlocks: math.NaN(), MissBlocks: math.NaN(), RemoteStaleBlocks: math.NaN(), LoadWaitMs: math.NaN(),
					LengthMatchRate: math.NaN(),
				},
			},
			Saturation: Saturation{State: &no, Reason: "bucket medium-up-to-32768-tokens: the queue was 0.2, 0.5 and 0.6 requests long in the last three quarters"},
		},
		"overload": {
			Saturation: Saturation{State: &yes, Growth: 0.2345, Reason: "bucket a-bucket-with-quite-a-long-name: the queue was 100.1, 2000.2 and 40000.3 requests long in the last three quarters"},
			Latencies:  Latencies{undefined(), undefined(), undefined(), undefined(), undefined(), undefined()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			must(t, WriteTable(&b, s))
			for _, line := range strings.Split(b.String(), "\n") {
				if n := utf8.RuneCountInString(line); n > TableWidth {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			path := filepath.Join("testdata", "table", name+".txt")
			if *rewrite {
				must(t, os.WriteFile(path, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			must(t, err)
			if b.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

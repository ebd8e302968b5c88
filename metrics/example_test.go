package metrics_test

import (
	"fmt"
	"os"

	"github.com/reprise-sim/reprise/metrics"
)

// One instance serves two requests in passes of 10 ms; the second joins late.
func ExampleTally() {
	var (
		ledger metrics.Ledger
		log    metrics.PassLog
		gaps   metrics.Gaps
	)
	for i, arrival := range []float64{0, 5} {
		r := ledger.Row(ledger.Open(metrics.Label{Request: fmt.Sprint("r", i)}, arrival, 100, 3))
		r.Bucket, r.Instance, r.SubmitMs = 0, 0, arrival
		r.Admit(float64(10*i), 0)
	}
	for pass, continued := range []int32{0, 1, 2, 1} { // tokens that follow one of the pass before
		log.Append(float64(10*(pass+1)), continued)
	}
	for i := range 2 {
		r := ledger.Row(int32(i))
		r.First(i, &log)
		r.Tokens(i, 3)
		r.End(metrics.Completed, "", float64(10*(i+3)), &log, &gaps, false)
	}
	log.Fold(&gaps, true)

	tally := metrics.NewTally(metrics.Setup{Buckets: []string{"default"}})
	defer tally.Close()
	ledger.HandOut(func(_ int32, r *metrics.Row) {
		if err := tally.Add(r); err != nil {
			fmt.Println(err)
		}
	})
	s, err := tally.Summary(metrics.Run{
		LatencyModel: "fixed",
		InTrace:      2,
		Uses:         []metrics.Use{{Passes: 4, BusyMs: 40, Gaps: &gaps}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := metrics.WriteTable(os.Stdout, s); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ms                            mean    p50    p90    p95    p99    max  samples
	// TTFT  time to first token    12.50  15.00  15.00  15.00  15.00  15.00        2
	// TPOT  time per output token  10.00  10.00  10.00  10.00  10.00  10.00        2
	// ITL   gap between tokens     10.00  10.00  10.00  10.00  10.00  10.00        4
	// E2E   time to last token     32.50  35.00  35.00  35.00  35.00  35.00        2
	//
	// requests      2 in the trace, 2 offered: 2 completed
	// throughput    50.00 requests/s, 5000 input and 150.0 output tokens/s, over 0.040 s
	// prefix reuse  0.000 % of input tokens, 0.000 % at first admission
	// preemptions   0
	// saturated     cannot be said: too few requests to tell growth from chance: 2 of 100 needed
	// priced by     fixed
}

package rundir_test

import (
	"fmt"
	"os"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
)

func Example() {
	dir, err := os.MkdirTemp("", "run")
	check(err)
	defer os.RemoveAll(dir)

	draft, err := rundir.Create(dir, false)
	check(err)
	requests, err := draft.Requests(rundir.Routing{Buckets: []string{"default"}})
	check(err)
	var ledger metrics.Ledger
	ledger.Open(metrics.Label{Request: "r0", Line: 1}, 0.1, 100, 1)
	ledger.Row(0).EndAt(metrics.Cancelled, metrics.ClientCancelled, 0.30000000000000004, nil, nil, false)
	ledger.HandOut(func(_ int32, r *metrics.Row) { check(requests.Add(r)) })
	check(draft.Close(&rundir.Info{Seed: 42}, &metrics.Summary{}))

	run, err := rundir.Open(dir)
	check(err)
	in, err := run.Requests()
	check(err)
	defer in.Close()
	var r rundir.Record
	check(in.Next(&r))
	fmt.Println(r.Request, r.Status, r.Reason, r.EndMs, r.FirstMs)
	// Output: r0 cancelled client_cancelled 0.30000000000000004 NaN
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

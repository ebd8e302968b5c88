package workload_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/workload"
)

// Recorded times, twice as fast: the server does not matter.
func ExampleDriver_recordedTimes() {
	requests := memory{request("a", 100), request("b", 150), request("c", 300)}

	s := workload.Defaults()
	s.Speedup = 2
	driver, err := workload.New(requests, s, workload.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer driver.Close()

	for now := driver.Next(); !driver.Drained(); now = driver.Next() {
		for _, call := range driver.Release(now, nil) {
			fmt.Printf("%s starts at %v ms\n", call.Task.ID, call.DueMs)
			driver.Done(call.Row, completed, now)
		}
	}
	// Output:
	// a starts at 0 ms
	// b starts at 25 ms
	// c starts at 100 ms
}

// Two requests in flight: each end lets the next one in.
func ExampleDriver_concurrency() {
	requests := memory{request("a", 100), request("b", 150), request("c", 300)}

	s := workload.Defaults()
	s.Mode = workload.ModeConcurrency
	s.Concurrency = new(int)
	*s.Concurrency = 2
	driver, err := workload.New(requests, s, workload.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer driver.Close()

	for _, call := range driver.Release(0, nil) {
		fmt.Printf("%s starts at %v ms\n", call.Task.ID, call.DueMs)
	}
	fmt.Println("then something has to end first:", driver.Next())
	driver.Done(1, completed, 70)
	for _, call := range driver.Release(70, nil) {
		fmt.Printf("%s starts at %v ms\n", call.Task.ID, call.DueMs)
	}
	// Output:
	// a starts at 0 ms
	// b starts at 0 ms
	// then something has to end first: +Inf
	// c starts at 70 ms
}

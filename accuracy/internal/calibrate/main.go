// Calibrate fits the factors of the roofline to measured serving runs, by engine, GPU
// and number format, and writes latency/roofline/calibration.csv.
//
//	go run ./accuracy/internal/calibrate measured.csv > calibration.csv
//
// Only runs of fixed concurrency count, by their time per output token. Errors are of
// runs that were held out together with all others of their deployment.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/reprise-sim/reprise/accuracy"
	"github.com/reprise-sim/reprise/latency/roofline"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: calibrate measured.csv > calibration.csv")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	cases, err := accuracy.Read(path, f)
	if err != nil {
		return err
	}
	text, err := table(measure(cases))
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

// measure runs all cases.
func measure(cases []*accuracy.Case) []measured {
	byCase := make([]*measured, len(cases))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cases); i = int(next.Add(1)) - 1 {
				if sample, s, ok := accuracy.Features(cases[i]); ok {
					m := s.Deployment.Model
					byCase[i] = &measured{
						sample: sample, group: cases[i].Group,
						cell: cell{s.Engine.Name, s.GPU.Name, roofline.MainFormat(m, s.Deployment.Weights).Name, m.MoE()},
					}
				}
			}
		})
	}
	wg.Wait()
	var list []measured
	for _, m := range byCase {
		if m != nil {
			list = append(list, *m)
		}
	}
	return list
}

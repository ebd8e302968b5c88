package cluster

import (
	"github.com/reprise-sim/reprise/engine"
)

// Run is a run of output tokens: N of them, one a pass, from pass From on.
type Run struct {
	From int
	N    int32
}

// Listen makes the instance ask to be looked at after each pass, for somebody who
// wants to hear of tokens as they come. Results are the same.
func (in *Instance) Listen() { in.everyPass = true }

// OpenRuns adds the runs that go on to runs, by row; see [engine.Progressive]. An
// engine that cannot tell adds none: its tokens are heard of when a run is over.
func (in *Instance) OpenRuns(runs map[int32]Run) {
	if p, ok := in.rank.(engine.Progressive); ok {
		p.OpenRuns(func(row int32, from int, n int32) { runs[row] = Run{from, n} })
	}
}

// TokenMs appends the times of the output tokens of a request that has not ended, but
// the first skip ones: those of passes that are complete. open is its run that goes
// on, if there is one.
func (in *Instance) TokenMs(dst []float64, row int32, open Run, skip int) []float64 {
	add := func(from int, n int32) {
		for p := from; p < min(from+int(n), in.complete); p++ {
			if skip > 0 {
				skip--
				continue
			}
			dst = append(dst, in.log.End(p))
		}
	}
	in.ledger.Row(row).Runs(add)
	add(open.From, open.N)
	return dst
}

package accuracy

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/reprise-sim/reprise/latency/roofline"
)

// Outcome is a figure as measured and as predicted.
type Outcome struct {
	Case      *Case
	Value     Value
	Predicted float64
	// Experts is whether the model has experts.
	Experts bool
	// LeftOut says why there is no prediction, "" if there is one.
	LeftOut string
	// WaveMs and SteadyMs divide a predicted time to first token: the mean of those that
	// started at once, that of the others.
	WaveMs, SteadyMs float64
}

// Error is the relative error.
func (o *Outcome) Error() float64 { return o.Predicted/o.Value.Value - 1 }

// Options are how cases are predicted.
type Options struct {
	Calibrated bool
	Workers    int // cases at once; 0: GOMAXPROCS
	Progress   func(done, of int)
}

// Predict predicts all figures of all cases, in their order.
func Predict(ctx context.Context, cases []*Case, o Options) ([]Outcome, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	byCase := make([][]Outcome, len(cases))
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range o.Workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cases) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				byCase[i] = predict(cases[i], o)
				if n := int(done.Add(1)); o.Progress != nil {
					o.Progress(n, len(cases))
				}
			}
		})
	}
	wg.Wait()
	var all []Outcome
	for _, list := range byCase {
		all = append(all, list...)
	}
	return all, ctx.Err()
}

// predict predicts the figures of a case.
func predict(c *Case, o Options) []Outcome {
	figures, experts, err := figuresOf(c, o)
	list := make([]Outcome, len(c.Values))
	for i, v := range c.Values {
		list[i] = Outcome{Case: c, Value: v, Experts: experts}
		p, ok := figures.of(&v)
		switch {
		case err != nil:
			list[i].LeftOut = err.Error()
		case !ok:
			list[i].LeftOut = fmt.Sprintf("%s of %s: nothing to compare with", v.Name(), c.Mode)
		default:
			list[i].Predicted = p
			list[i].WaveMs, list[i].SteadyMs = figures.wave, figures.steady
		}
	}
	return list
}

// figuresOf runs or computes a case.
func figuresOf(c *Case, o Options) (f figures, experts bool, err error) {
	if c.Trust == "C" {
		return f, false, fmt.Errorf("trust C: the deployment is incomplete or conflicting")
	}
	s, err := Deploy(c)
	if err != nil {
		return f, false, err
	}
	experts = s.Deployment.Model.MoE()
	f, err = run(c, &s, o)
	return f, experts, err
}

// run does what the mode of a case asks for.
func run(c *Case, s *roofline.Setup, o Options) (figures, error) {
	m, err := Price(*s, o.Calibrated)
	if err != nil {
		return figures{}, err
	}
	switch {
	case c.blocksOnly():
		return blocks(c, s)
	case c.closed():
		served, err := closedLoop(c, s, m, nil)
		if err != nil {
			return figures{}, err
		}
		return servedFigures(c, s, served), nil
	case c.open():
		served, err := openLoop(c, s, m, nil)
		if err != nil {
			return figures{}, err
		}
		return servedFigures(c, s, served), nil
	case c.Mode == "offline-max-throughput" && c.Arrival == "all-at-once":
		served, err := offline(c, s, m)
		if err != nil {
			return figures{}, err
		}
		return servedFigures(c, s, served), nil
	case c.Mode == "static-batch" && c.Batch > 0 && c.Output > 0:
		return static(c, m)
	}
	return figures{}, fmt.Errorf("mode %s, arrival %s: not simulated", c.Mode, c.Arrival)
}

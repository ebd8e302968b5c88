package config

import (
	"fmt"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/workload"
)

// begin makes the parts that need no trace.
func (s *Simulation) begin() (err error) {
	c := s.config
	if err := c.Resolve(); err != nil {
		return err
	}
	if c.Output.Dir != nil {
		draft, err := rundir.Create(*c.Output.Dir, s.options.Overwrite)
		if err != nil {
			return err
		}
		s.draft.Store(draft)
	}
	if s.model, err = latency.NewFor(c.Latency, c.deployment()); err != nil {
		return inSection("latency", err)
	}
	_, s.ranges = c.buckets()
	return nil
}

// prepare makes the parts, cheap refusals first.
func (s *Simulation) prepare() (err error) {
	if err := s.begin(); err != nil {
		return err
	}
	c := s.config
	if s.trace, err = c.Trace.Open(); err != nil {
		return inSection("trace", err)
	}
	if err := c.sameTrace(s.trace); err != nil {
		return err
	}
	if s.driver, err = workload.New(s.trace, c.Arrival, c.Limits); err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, s.driver.Close)
	s.calls = s.driver.Counts().InTrace
	if err := s.checkRouters(); err != nil {
		return err
	}
	s.tally = metrics.NewTally(metrics.Setup{
		Buckets: bucketNames(s.ranges), SLA: c.SLA, ClosedLoop: c.Arrival.Mode == workload.ModeConcurrency,
	})
	s.cleanup = append(s.cleanup, s.tally.Close)
	if s.record, err = s.newRecord(); err != nil {
		return err
	}
	if s.loop, err = s.newLoop(); err != nil {
		return err
	}
	return c.checkSamples(s.trace.Report(), len(s.loop.Service.Instances()))
}

// Open opens the trace that the settings name and checks all of it.
func (t *Trace) Open() (trace.Trace, error) {
	o := formats.Options{Format: t.Format, IDs: t.IDs, IDsCover: t.IDsCover}
	if t.BlockSize != nil {
		o.BlockSize = *t.BlockSize
	}
	return formats.Open(t.Path, o)
}

// sameTrace refuses another trace than that of the run to be repeated.
func (c *Config) sameTrace(t trace.Trace) error {
	if c.repeats == nil || c.repeats.digest == rundir.Digest(t) {
		return nil
	}
	return fmt.Errorf("%s: the trace is not what it was when %s was written: its digest is %s, that of the run is %s; give the trace by --trace to use it all the same",
		c.Trace.Path[0], c.repeats.file, rundir.Digest(t), c.repeats.digest)
}

// newLoop is the loop over idle instances.
func (s *Simulation) newLoop() (*simulate.Loop, error) {
	c := s.config
	calls := s.calls
	if c.Limits.Requests != nil {
		calls = min(calls, *c.Limits.Requests)
	}
	ledger := &metrics.Ledger{KeepTokens: s.record != nil && c.Output.Tokens}
	service, err := s.newService(ledger)
	if err != nil {
		return nil, err
	}
	loop := &simulate.Loop{
		Driver: s.driver, Ledger: ledger, Observer: &observer{tally: s.tally, record: s.record, flush: s.flushPasses, progress: s.options.Progress, calls: calls},
		Service: service,
		CapMs:   c.capMs(), Workers: s.options.Workers, Stepwise: s.options.Stepwise,
	}
	if s.record != nil && c.Output.Samples {
		loop.SampleMs = c.Output.SampleIntervalMs
	}
	return loop, nil
}

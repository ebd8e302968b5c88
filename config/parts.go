package config

import (
	"fmt"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/workload"
)

// soleBucket is the bucket of a service that has no buckets.
const soleBucket = "default"

// prepare makes the parts, cheap refusals first.
func (s *Simulation) prepare() (err error) {
	c := s.config
	if err := c.Resolve(); err != nil {
		return err
	}
	if err := c.checkRouter(); err != nil {
		return err
	}
	if c.Output.Dir != nil {
		draft, err := rundir.Create(*c.Output.Dir, s.options.Overwrite)
		if err != nil {
			return err
		}
		s.draft.Store(draft)
	}
	if s.model, err = latency.New(c.Latency); err != nil {
		return err
	}
	if s.trace, err = c.Trace.Open(); err != nil {
		return err
	}
	if err := c.sameTrace(s.trace); err != nil {
		return err
	}
	if s.driver, err = workload.New(s.trace, c.Arrival, c.Limits); err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, s.driver.Close)
	s.calls = s.driver.Counts().InTrace
	s.tally = metrics.NewTally(metrics.Setup{
		Buckets: []string{soleBucket}, SLA: c.SLA, ClosedLoop: c.Arrival.Mode == workload.ModeConcurrency,
	})
	s.cleanup = append(s.cleanup, s.tally.Close)
	if s.record, err = s.newRecord(); err != nil {
		return err
	}
	s.loop = s.newLoop()
	return nil
}

// checkRouter refuses a router that looks at what instances do not show it.
func (c *Config) checkRouter() error {
	var p setting.Problems
	under(&p, "cluster.router", c.Cluster.Router.Without(routing.Content|routing.Prices))
	return p.Err()
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
	if c.repeats == nil || c.repeats.digest == digest(t) {
		return nil
	}
	return fmt.Errorf("%s: the trace is not what it was when %s was written: its digest is %s, that of the run is %s; give the trace by --trace to use it all the same",
		c.Trace.Path[0], c.repeats.file, digest(t), c.repeats.digest)
}

// newLoop is the loop over idle instances.
func (s *Simulation) newLoop() *simulate.Loop {
	c := s.config
	calls := s.calls
	if c.Limits.Requests != nil {
		calls = min(calls, *c.Limits.Requests)
	}
	ledger := &metrics.Ledger{KeepTokens: s.record != nil && c.Output.Tokens}
	loop := &simulate.Loop{
		Driver: s.driver, Ledger: ledger, Observer: &observer{tally: s.tally, record: s.record, progress: s.options.Progress, calls: calls},
		Service: cluster.New(s.instances(ledger), routing.New(c.Cluster.Router, uint64(c.Seed))),
		CapMs:   c.capMs(), Workers: s.options.Workers,
	}
	if s.record != nil && c.Output.Samples {
		loop.SampleMs = c.Output.SampleIntervalMs
	}
	return loop
}

// instances are all instances, idle.
func (s *Simulation) instances(ledger *metrics.Ledger) []*cluster.Instance {
	c := s.config
	instances := make([]*cluster.Instance, c.Cluster.NumInstances)
	for i := range instances {
		instances[i] = cluster.NewInstance(0, int32(i), cluster.Equipment{
			Rank: engine.New(&c.Engine), Model: s.model, HostMs: c.Latency.HostUs / 1000, Ledger: ledger,
		})
	}
	return instances
}

package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/simulate"
)

// Serving is a simulated service that takes its calls from outside, and the record of
// what it does. It has to be finished or aborted.
type Serving struct {
	run       *Simulation
	ledger    *metrics.Ledger
	service   *cluster.Buckets
	observer  *observer
	sampleMs  float64
	beganLoop time.Time
}

// PrepareServing makes all parts of a server from a configuration that was loaded for
// one (see [Sources]).
func PrepareServing(c *Config, o Options) (*Serving, error) {
	s := &Simulation{config: c, options: o, started: time.Now()}
	if o.Begun != nil {
		o.Begun(s.Abort)
	}
	v := &Serving{run: s, ledger: &metrics.Ledger{KeepTokens: true}}
	if err := v.prepare(); err != nil {
		return nil, errors.Join(c.located(err), s.Abort(), s.close())
	}
	return v, nil
}

func (v *Serving) prepare() (err error) {
	s := v.run
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.checkNeeds(0); err != nil {
		return err
	}
	s.tally = metrics.NewTally(metrics.Setup{Buckets: bucketNames(s.ranges), SLA: s.config.SLA})
	s.cleanup = append(s.cleanup, s.tally.Close)
	if s.record, err = s.newRecord(); err != nil {
		return err
	}
	if v.service, err = s.newService(v.ledger); err != nil {
		return err
	}
	v.observer = &observer{tally: s.tally, record: s.record, flush: s.flushPasses}
	if s.record != nil && s.config.Output.Samples {
		v.sampleMs = s.config.Output.SampleIntervalMs
	}
	return nil
}

// Stepper is the service as a stepper at time 0, which tells news to hear.
func (v *Serving) Stepper(hear func(simulate.News)) *simulate.Stepper {
	v.beganLoop = time.Now()
	return simulate.NewStepper(v.service, v.ledger, v.observer, v.sampleMs, hear)
}

// ContextTokens is the most tokens that prompt and output of a call may have: the
// model's, or what the KV pool of an instance holds.
func (v *Serving) ContextTokens() int {
	e := &v.run.config.Engine
	held := v.service.Instances()[0].Load(math.Inf(-1)).BlocksTotal * e.BlockSize
	if e.MaxModelLen != nil {
		held = min(held, *e.MaxModelLen)
	}
	return held
}

// Position is the place of an instance among all of them.
func (v *Serving) Position(in *cluster.Instance) int { return slices.Index(v.service.Instances(), in) }

// Instances is how many there are.
func (v *Serving) Instances() int { return len(v.service.Instances()) }

// Config is the configuration as resolved.
func (v *Serving) Config() *Config { return v.run.config }

// Notes are remarks that a user should see.
func (v *Serving) Notes() []string {
	return append(v.run.config.memoryNotes(), fmt.Sprintf("passes are priced by the latency model %s", v.run.model.Name()))
}

// Finish completes the files of a run that has ended.
func (v *Serving) Finish(end simulate.End) (*Result, error) {
	facts := metrics.Run{InTrace: int64(v.ledger.Len())}
	result, err := v.run.result(end, v.service.Instances(), facts, time.Since(v.beganLoop), 0)
	if err != nil {
		return nil, errors.Join(err, v.run.Abort(), v.run.close())
	}
	return result, v.run.close()
}

// Abort drops the files of the run.
func (v *Serving) Abort() error { return v.run.Abort() }

package config

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// Options are what a run needs beside its configuration. None of them changes a
// result.
type Options struct {
	Tool      rundir.Tool // the program, for run.json
	Overwrite bool        // an earlier run in the folder may be replaced
	Workers   int         // goroutines that advance instances; 0: GOMAXPROCS
	Stepwise  bool        // go from instant to instant, as tests do, even where nothing happens
	// Transfers is told each transfer between cache tiers that starts; nil: nobody.
	Transfers func(*cluster.Transfer)
	// Blocks is told what happens to KV blocks; nil: nobody.
	Blocks cluster.BlockObserver
	// Begun is told, before anything that may take long, how to drop what the run
	// writes; see [Simulation.Abort].
	Begun func(abort func() error)
	// Progress is told now and then how many calls have ended, of how many. It is
	// called from the goroutine of Run.
	Progress func(ended, calls int)
}

// Simulation is a run that is ready to go. It has to be run once or aborted.
type Simulation struct {
	config  *Config
	options Options
	started time.Time

	trace   trace.Trace
	model   latency.Model
	driver  *workload.Driver
	tally   *metrics.Tally
	loop    *simulate.Loop
	record  *record  // nil if no files are written
	watches []*watch // of instances whose passes somebody wants to know of
	calls   int
	ranges  []routing.Bucket // in order of their ids

	draft   atomic.Pointer[rundir.Draft] // nil if no files are written
	cleanup []func() error
}

// Result is what a run leaves.
type Result struct {
	Summary *metrics.Summary
	Info    *rundir.Info
	Dir     string // folder of the files; "" if none were written
}

// Prepare reads the trace and makes all parts of a run. What it refuses is wrong
// with the configuration, the trace or the folder for the files; nothing has been
// simulated then and no file is left.
func Prepare(ctx context.Context, c *Config, o Options) (*Simulation, error) {
	s := &Simulation{config: c, options: o, started: time.Now()}
	if o.Begun != nil {
		o.Begun(s.Abort)
	}
	err := s.prepare()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(c.located(err), s.Abort(), s.close())
	}
	return s, nil
}

// Notes are remarks on the trace and the memory that a user should see.
func (s *Simulation) Notes() []string { return append(traceNotes(s.trace), s.config.memoryNotes()...) }

// Run runs the simulation to its end. If ctx is cancelled before, the result is
// that of an interrupted run: complete files, requests that are unfinished.
func (s *Simulation) Run(ctx context.Context) (*Result, error) {
	result, err := s.run(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Abort(), s.close())
	}
	return result, s.close()
}

func (s *Simulation) run(ctx context.Context) (*Result, error) {
	var output time.Duration
	s.loop.Output = func(tell func() error) error {
		began := time.Now()
		defer func() { output += time.Since(began) }()
		return tell()
	}
	began := time.Now()
	end, err := s.loop.Run(ctx)
	if err != nil {
		return nil, err
	}
	facts := metrics.Run{InTrace: int64(s.calls), NotReleased: s.driver.NotReleased()}
	return s.result(end, s.loop.Service.Instances(), facts, time.Since(began)-output, output)
}

// result is what is left of a run that has ended; loop and output are real time.
func (s *Simulation) result(end simulate.End, instances []*cluster.Instance, facts metrics.Run, loop, output time.Duration) (*Result, error) {
	s.account(&facts, end, instances)
	summary, err := s.tally.Summary(facts)
	if err != nil {
		return nil, err
	}
	info, err := s.info(end)
	if err != nil {
		return nil, err
	}
	result := &Result{Summary: summary, Info: info}
	if d := s.draft.Load(); d != nil {
		if err := s.record.finish(); err != nil {
			return nil, err
		}
		info.Wall = rundir.Wall{
			Started: s.started.UTC(), LoopMs: milliseconds(loop), OutputMs: milliseconds(output), TotalMs: milliseconds(time.Since(s.started)),
		}
		if err := d.Close(info, summary); err != nil {
			return nil, err
		}
		result.Dir = *s.config.Output.Dir
	}
	return result, nil
}

// milliseconds is a duration in ms, to the µs.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// account adds what the instances have done to the facts of a run.
func (s *Simulation) account(run *metrics.Run, end simulate.End, instances []*cluster.Instance) {
	run.LatencyModel = s.model.Name()
	for _, in := range instances {
		run.Uses = append(run.Uses, in.Use())
	}
	run.DecodeFleet = metrics.Fleet{ // aggregated instances count as decode only (spec/replay.md 6.2)
		WorkerSeconds: float64(float64(len(instances)) * end.ClockMs / 1000),
		GPUs:          s.config.Engine.TensorParallelSize * s.config.Engine.DPSize,
	}
}

// Abort drops the files of the run. It may be called by any goroutine while Run
// goes on, which then fails; after Run it does nothing.
func (s *Simulation) Abort() error {
	if d := s.draft.Load(); d != nil {
		return d.Abort()
	}
	return nil
}

// close frees what the run holds, the last first.
func (s *Simulation) close() error {
	var err error
	for i := len(s.cleanup) - 1; i >= 0; i-- {
		err = errors.Join(err, s.cleanup[i]())
	}
	s.cleanup = nil
	return err
}

// capMs is the last instant that is simulated.
func (c *Config) capMs() float64 {
	if c.Limits.MaxSimTimeMs == nil {
		return math.Inf(1)
	}
	return *c.Limits.MaxSimTimeMs
}

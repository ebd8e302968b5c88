package live

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// Result is what a live run leaves.
type Result struct {
	Repetitions []*Repetition
	Interrupted bool
}

// Repetition is one pass over the trace.
type Repetition struct {
	Summary  *metrics.Summary
	Info     *rundir.Info
	Fidelity Fidelity
	Failures Failures
	Lag      Lag
	Tasks    []*Task
	Dir      string // folder of the files, "" if none were written
}

// Faithful is whether every call that was offered did what was recorded.
func (r *Repetition) Faithful() bool {
	return r.Fidelity.Unfaithful == 0 && r.Failures.Calls == 0 && r.Summary.Accounting.Rejected == 0
}

// Faithful is whether all repetitions were.
func (r *Result) Faithful() bool {
	for _, one := range r.Repetitions {
		if !one.Faithful() {
			return false
		}
	}
	return true
}

// Run warms up, if that is wanted, and replays the trace as often as it should. If ctx
// is cancelled before, the result is that of an interrupted run: complete files, calls
// that are unfinished; repetitions that had not begun leave none.
func (r *Replay) Run(ctx context.Context) (*Result, error) {
	defer r.close()
	result := &Result{}
	err := r.warmUp(ctx)
	for i := 1; err == nil && i <= r.settings.Repetitions && ctx.Err() == nil; i++ {
		var one *Repetition
		if one, err = r.repeat(ctx, i); err == nil {
			result.Repetitions = append(result.Repetitions, one)
		}
	}
	if ctx.Err() != nil {
		result.Interrupted = true
	}
	err = errors.Join(err, r.Abort())
	if err != nil {
		return nil, err
	}
	return result, nil
}

// warmUp replays the first tasks under a salt of their own and forgets what came of it.
func (r *Replay) warmUp(ctx context.Context) error {
	if r.settings.WarmupTasks == 0 {
		return nil
	}
	l, err := r.newLoop(first{r.trace, r.settings.WarmupTasks}, 0, nil)
	if err != nil {
		return err
	}
	r.clock.restart()
	return errors.Join(l.run(ctx), l.close())
}

// repeat is repetition i, from 1.
func (r *Replay) repeat(ctx context.Context, i int) (*Repetition, error) {
	var draft *rundir.Draft
	if r.drafts != nil {
		draft = r.drafts[i-1]
	}
	l, err := r.newLoop(r.trace, i, draft)
	if err != nil {
		return nil, err
	}
	before := r.counters(ctx)
	started := time.Now()
	r.clock.restart()
	scrapes, err := r.scrape(ctx, draft)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	err = errors.Join(l.run(ctx), scrapes.end(), l.book.err)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	wall := rundir.Wall{Started: started.UTC(), LoopMs: r.clock.now(), TotalMs: r.clock.now()}
	one, err := r.conclude(l, i, wall)
	if err == nil && draft != nil {
		one.Dir = r.dirs[i-1]
		err = one.write(draft, r, since(r.counters(context.WithoutCancel(ctx)), before))
	}
	return one, errors.Join(err, l.close())
}

// newLoop is a loop over a trace at its start.
func (r *Replay) newLoop(t trace.Trace, repetition int, d *rundir.Draft) (*loop, error) {
	s := &r.settings
	l := &loop{Settings: s, mode: r.mode, header: r.header, client: r.client, clock: r.clock, repetition: repetition,
		refused: r.found.refused, guide: r.guide, events: make(chan func(), 1024), tick: r.options.Progress,
		targets: newTargets(r.servers, s.Router, uint64(s.Seed))}
	if l.tick == nil {
		l.tick = func(Progress) {}
	}
	files, err := newFiles(d, s.Router.Mode)
	if err != nil {
		return nil, err
	}
	runs := func(n *trace.Node) bool { return s.command(n) != "" }
	l.book = &book{mode: r.mode, stream: s.Stream, targets: l.targets.list, files: files, lives: map[int32]*rundir.LiveCall{}, gaps: make([]metrics.Gaps, len(r.servers)),
		tally: metrics.NewTally(metrics.Setup{Buckets: []string{bucket}, SLA: s.SLA, ClosedLoop: s.Arrival.Mode == workload.ModeConcurrency}),
		tasks: taskBook{open: map[*trace.Task]*openTask{}, pause: s.Arrival.Speedup, runs: runs, tools: s.Tools.Kind == PaceExecute}}
	l.desk = newDesk(r.mode, func(p place, s *sheet) error { return r.write(l, p, s) })
	options := []workload.Option{workload.LateFeedback(), workload.Announce(l.announced)}
	if s.OnFailure == Continue {
		options = append(options, workload.GoOnAfterFailure())
	}
	if s.Tools.Kind == PaceExecute {
		options = append(options, workload.RunTools(runs))
	}
	if s.RampMs > 0 {
		options = append(options, workload.RampSlots(s.RampMs))
	}
	if l.driver, err = workload.New(t, s.Arrival, s.Limits, options...); err != nil {
		return nil, errors.Join(err, l.book.tally.Close())
	}
	return l, nil
}

func (l *loop) close() error { return errors.Join(l.driver.Close(), l.book.tally.Close()) }

// write makes a call as the mode sees it.
func (r *Replay) write(l *loop, p place, s *sheet) error {
	n := &p.task.Nodes[p.node]
	sampling, err := force.SamplingOf(n, r.limits)
	if err != nil {
		return err
	}
	c := &force.Call{Model: r.servers[0].Model, N: int(n.OutputTokens), Sampling: sampling, Salt: l.saltOf(p.task), Stream: l.Stream}
	c.Prompt = r.filler.Append(make([]uint32, 0, n.InputTokens), n)
	if force.Known(n.Output) {
		c.Output = force.IDs(n.Output)
	}
	if l.Priority {
		c.Priority = n.Priority
	}
	s.call = c
	if r.guide == nil {
		return nil
	}
	if s.table, err = r.guide.lay(p.task, p.node, l.tableName(n)); s.table != nil {
		c.Routes = l.tableName(n)
	}
	return err
}

// conclude makes the figures of a repetition.
func (r *Replay) conclude(l *loop, i int, wall rundir.Wall) (*Repetition, error) {
	b := l.book
	run := metrics.Run{LatencyModel: rundir.KindLive, InTrace: int64(l.driver.Counts().InTrace), NotReleased: l.driver.NotReleased()}
	for k := range b.gaps {
		run.Uses = append(run.Uses, metrics.Use{Instance: int32(k), Gaps: &b.gaps[k]})
	}
	summary, err := b.tally.Summary(run)
	if err != nil {
		return nil, err
	}
	if !b.cached {
		summary.ReuseRatio, summary.FirstReuse = math.NaN(), math.NaN()
	}
	report := r.source.Report()
	b.fidelity.PlannedCalls, b.fidelity.PlannedTokens = int64(report.Calls), report.OutputTokens
	if r.guide != nil {
		positions := report.InputTokens + report.OutputTokens - int64(report.Calls)
		b.fidelity.PlannedExperts = positions * int64(r.servers[0].Package.MoE.HiddenLayers)
	}
	info, err := r.info(i, l.stopped, wall)
	if err != nil {
		return nil, err
	}
	return &Repetition{Summary: summary, Info: info, Fidelity: b.fidelity, Failures: b.failures, Lag: lagOf(b.lags), Tasks: b.tasks.list}, nil
}

// info is run.json.
func (r *Replay) info(i int, stopped bool, wall rundir.Wall) (*rundir.Info, error) {
	s := &r.settings
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	about := &rundir.Live{Run: s.Run, Force: r.mode.Name(), Level: int(r.level()), Experts: s.Experts,
		Repetition: i, Repetitions: s.Repetitions, WarmupTasks: s.WarmupTasks}
	for _, c := range r.servers {
		about.Targets = append(about.Targets, rundir.Target{URL: c.URL, Server: c.Server, Model: c.Model, MaxModelLen: c.MaxModelLen})
	}
	return &rundir.Info{Kind: rundir.KindLive, Tool: r.options.Tool, Interrupted: stopped, Seed: s.Seed, LatencyModel: rundir.KindLive,
		Live: about, Traces: []rundir.Trace{rundir.TraceOf(r.source)}, Config: text, Wall: wall}, nil
}

// counters are what the packages inside the servers have counted, nil where there is
// none.
func (r *Replay) counters(ctx context.Context) []*probe.Counters {
	counters := make([]*probe.Counters, len(r.servers))
	for i, c := range r.servers {
		if c.Package != nil {
			counters[i] = r.prober(r.settings.Targets[i]).Counters(ctx)
		}
	}
	return counters
}

// since is what was counted meanwhile.
func since(now, before []*probe.Counters) []*probe.Counters {
	counted := make([]*probe.Counters, len(now))
	for i := range now {
		if now[i] != nil && before[i] != nil {
			c := now[i].Since(*before[i])
			counted[i] = &c
		}
	}
	return counted
}

package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/workload"
)

// replayFlags are the flags of `reprise replay`.
type replayFlags struct {
	settings live.Settings
	trace    traceFlags

	tools, think                  string
	toolCommands, header          []string
	headers                       http.Header
	process                       string
	rate, cv                      float64
	concurrency, limit            int
	ramp, retryDelay              time.Duration
	stall, timeout, scrape        time.Duration
	ttftMs, itlMs, e2eMs          float64
	noStream                      bool
	out                           string
	overwrite, allow, json, quiet bool
}

func (f *replayFlags) add(cmd *cobra.Command) {
	f.trace.add(cmd)
	f.addForcing(cmd)
	f.addArrival(cmd)
	f.addServers(cmd)
	f.addRest(cmd)
}

// addForcing adds the flags that say what has to be as recorded.
func (f *replayFlags) addForcing(cmd *cobra.Command) {
	s, flags := &f.settings, cmd.Flags()
	modes := append([]string{live.Auto}, force.Names()...)
	tokens := []string{live.Auto, live.TokensExact, live.TokensLength, live.TokensNone}
	flags.StringVar(&s.Tokens, "tokens", s.Tokens, "what of the outputs has to be as recorded, or the run fails: `"+strings.Join(tokens, "|")+"`")
	flags.StringVar(&s.Force, "force", s.Force, "how outputs are forced: `"+strings.Join(modes, "|")+"`")
	flags.StringVar(&s.Experts, "experts", s.Experts, "experts that serve each token: those of TRACE.experts.safetensors, or those that the model chooses: `exact|native`")
	flags.StringVar(&s.RoutesDir, "routes-dir", "", "with --experts exact: `DIR` that the server reads experts from (its REPRISE_ROUTES_DIR)")
	flags.BoolVar(&s.IgnoreGrammar, "ignore-grammar", false, "send calls with recorded output formats all the same, without them: their cost is lost")
	flags.IntVar(&s.Vocabulary, "vocabulary", 0, "token ids of the model; 0: as the server says")
	flags.StringVar(&s.OnRefused, "on-refused", s.OnRefused, "calls that cannot be sent as recorded: refuse the trace, or reject them and send the others: `refuse|reject`")
	flags.StringVar(&s.OnFailure, "on-failure", s.OnFailure, "after a call that failed: stop its task, or continue with the recorded history: `stop|continue`")
	flags.BoolVar(&f.allow, "allow-unfaithful", false, "exit with 0 also if calls differ from the recording or fail")
	complete(cmd, "tokens", oneOf(tokens...))
	complete(cmd, "force", oneOf(modes...))
	complete(cmd, "experts", oneOf(live.ExpertsExact, live.ExpertsNative))
	complete(cmd, "on-refused", oneOf(live.Refuse, live.Reject))
	complete(cmd, "on-failure", oneOf(live.Stop, live.Continue))
}

// addArrival adds the flags that say when calls are due.
func (f *replayFlags) addArrival(cmd *cobra.Command) {
	s, flags := &f.settings, cmd.Flags()
	flags.StringVar(&f.tools, "tools", s.Tools.String(), "how long tools take: recorded, none, `scaled:FACTOR`, fixed:MS, or execute to run them")
	flags.StringArrayVar(&f.toolCommands, "tool-command", nil, "with --tools execute: shell command for a tool, `NAME=COMMAND`, *=COMMAND for all others; gets the recorded arguments as its input; again for more")
	flags.StringVar(&f.think, "think", s.Think.String(), "how long human and idle waits take: recorded, none, `scaled:FACTOR`, fixed:MS")
	flags.Float64Var(&s.Arrival.Speedup, "speedup", 1, "divides recorded times and every pause")
	flags.StringVar(&s.Arrival.Turns, "turns", s.Arrival.Turns, "later calls of a task start when what they wait for has ended, or at their recorded starts whatever the server does: `after_previous|recorded`")
	flags.IntVar(&f.concurrency, "concurrency", 0, "tasks in flight, in place of recorded times")
	flags.DurationVar(&f.ramp, "ramp", 0, "with --concurrency: time over which the tasks are started")
	flags.StringVar(&f.process, "arrival", "", "draw the tasks' arrivals: `"+strings.Join(arrival.Processes(), "|")+"`, in place of recorded times")
	flags.Float64Var(&f.rate, "rate", 0, "mean arrivals per second; alone: poisson")
	flags.Float64Var(&f.cv, "cv", 0, "with --arrival gamma: coefficient of variation of the gaps")
	flags.IntVar(&f.limit, "limit", 0, "most calls that are sent")
	flags.IntVarP(&s.Repetitions, "repetitions", "n", s.Repetitions, "times the trace is replayed, one after the other")
	flags.IntVar(&s.WarmupTasks, "warmup", 0, "tasks that are replayed before the first repetition and counted nowhere")
	flags.Int64Var(&s.Seed, "seed", s.Seed, "of drawn arrivals and of routers")
	complete(cmd, "turns", oneOf(workload.TurnsAfterPrevious, workload.TurnsRecorded))
	complete(cmd, "arrival", oneOf(arrival.Processes()...))
}

// addServers adds the flags about servers and requests.
func (f *replayFlags) addServers(cmd *cobra.Command) {
	s, flags := &f.settings, cmd.Flags()
	flags.StringArrayVar(&s.Targets, "target", nil, "`URL` of a server; again for several")
	flags.StringVar(&s.Model, "model", "", "served name of the model; not given: that of the trace, or the only one")
	flags.StringVar(&s.Router.Mode, "router", s.Router.Mode, "policy that chooses among several targets (see: reprise catalog routers)")
	flags.StringVar(&s.CacheSalt, "cache-salt", s.CacheSalt, "what shares prefix caches: the calls of a copy of a task, all of a repetition, whatever is equal: `task|run|none`")
	flags.StringVar(&s.Run, "run-id", "", "name in request ids and salts; not given: a random one")
	flags.BoolVar(&s.Priority, "priority", false, "send recorded priorities; the server needs --scheduling-policy priority")
	flags.IntVar(&s.DPRanks, "dp-ranks", 0, "pin sessions to data-parallel ranks, so many (X-data-parallel-rank)")
	flags.StringVar(&s.SessionHeader, "session-header", "", "header that gets the session, for gateways that route by it")
	flags.StringArrayVar(&f.header, "header", nil, "header of every request, `'NAME: VALUE'`; again for more; not written down")
	flags.IntVar(&s.Retries, "retries", 0, "attempts made again if a call brought no token (no connection, 5xx, 429)")
	flags.DurationVar(&f.retryDelay, "retry-delay", time.Duration(s.RetryDelayMs*1e6), "before the first attempt that is made again; doubled each time; the server's Retry-After counts if it is longer")
	flags.DurationVar(&f.stall, "stall", time.Duration(s.StallMs*1e6), "longest time without a byte of an answer; 0: no limit")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest time of a call; 0: no limit")
	flags.BoolVar(&f.noStream, "no-stream", false, "ask for whole answers: no times of tokens")
	flags.BoolVar(&s.HTTP2, "http2", false, "allow HTTP/2: streams then share connections")
	flags.DurationVar(&f.scrape, "scrape", time.Duration(s.ScrapeMs*1e6), "time between two looks at the servers' /metrics; 0: none")
	complete(cmd, "router", oneOf(routerNames()...))
	complete(cmd, "cache-salt", oneOf(live.SaltTask, live.SaltRun, live.SaltNone))
}

// addRest adds the flags about what is left and printed.
func (f *replayFlags) addRest(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.ttftMs, "sla-ttft", 0, "goodput: most ms to the first token")
	flags.Float64Var(&f.itlMs, "sla-itl", 0, "goodput: most ms between tokens, on average over a call")
	flags.Float64Var(&f.e2eMs, "sla-e2e", 0, "goodput: most ms to the last token, in place of the other two")
	flags.StringVar(&f.out, "out", "", "`DIR` for the files of the run; several repetitions get a folder each in it")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the files of an earlier run in the folder")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, no remarks")
}

// routerNames are the routers.
func routerNames() (names []string) {
	for _, p := range routing.Policies() {
		names = append(names, p.Mode)
	}
	return names
}

// arrival turns flags into when tasks arrive.
func (f *replayFlags) arrival(cmd *cobra.Command) {
	s, flags := &f.settings, cmd.Flags()
	if flags.Changed("concurrency") {
		s.Arrival.Mode, s.Arrival.Concurrency = workload.ModeConcurrency, &f.concurrency
	}
	if flags.Changed("limit") {
		s.Limits.Requests = &f.limit
	}
	if f.process == "" && flags.Changed("rate") {
		f.process = "poisson"
	}
	if f.process == "" {
		return
	}
	s.Process = &arrival.ProcessSettings{Process: f.process}
	if flags.Changed("rate") {
		s.Process.Rate = &f.rate
	}
	if flags.Changed("cv") {
		s.Process.CV = &f.cv
	}
}

// sla turns flags into what goodput asks for.
func (f *replayFlags) sla(cmd *cobra.Command) {
	var sla metrics.SLA
	for _, b := range []struct {
		flag  string
		value *float64
		bound **float64
	}{{"sla-ttft", &f.ttftMs, &sla.TTFTMs}, {"sla-itl", &f.itlMs, &sla.ITLMs}, {"sla-e2e", &f.e2eMs, &sla.E2EMs}} {
		if cmd.Flags().Changed(b.flag) {
			*b.bound, f.settings.SLA = b.value, &sla
		}
	}
}

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/live"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace/experts"
)

func newReplay() *cobra.Command {
	f := replayFlags{settings: live.Defaults()}
	cmd := &cobra.Command{
		Use:   "replay TRACE...",
		Short: "Replay a trace on real servers",
		Long: `Replay a trace on servers with an OpenAI-compatible API: every call is sent when it is
due, with the recorded token ids, and the server is made to write the recorded ones.
Every id that comes back is compared.

The server is asked first what it can do, and what it can do is printed: vLLM's own
trace replay (native), the package of integrations/vllm (plugin), output lengths only
(length), or nothing (none). The strongest way that works is taken, unless --tokens or
--force asks for one. A call that would be cut without a word is refused before anything
is sent; one that comes back otherwise than it was recorded is unfaithful, and named.

Every copy of a task gets a cache salt of its own, so that it finds in the server's
prefix cache what the same task left there and nothing else (--cache-salt).

REPRISE_API_KEY in the environment is sent as a bearer token and never written down.
Ctrl-C ends the run: calls that are open then are reported as unfinished, and the files
are complete. A second Ctrl-C leaves no files.

Exit codes: 0 success, 1 the run failed or is not faithful, 2 bad command line or trace,
130 interrupted.`,
		Example: `  reprise replay examples/agents.jsonl --target http://localhost:8000
  reprise replay examples/agents.jsonl --target http://localhost:8000 --concurrency 2 --tools none -n 3 --out live
  reprise replay examples/agents.jsonl --target http://localhost:8000 --tokens length --rate 5 --json`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

func (f *replayFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.resolve(cmd); err != nil {
		return err
	}
	var abort aborter
	ctx, stop := onInterrupt(cmd.Context(), &abort)
	defer stop()
	t, err := f.trace.open(cmd, args)
	if err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	bar := newLiveProgress(stderr, f.quiet)
	defer bar.stop()
	r, err := live.Prepare(ctx, f.settings, t, live.Options{
		Tool: tool(), Out: f.out, Overwrite: f.overwrite, Header: f.headers, Key: os.Getenv("REPRISE_API_KEY"), Experts: experts.Path(args[0]),
		Begun: abort.arm, Progress: bar.update,
	})
	var unable *live.Unable
	switch {
	case errors.Is(err, rundir.ErrHoldsRun):
		return fmt.Errorf("%w: --overwrite", err)
	case errors.As(err, &unable) && ctx.Err() == nil:
		return fail(err)
	case err != nil:
		return err
	}
	abort.running.Store(true)
	if !f.quiet {
		remark(stderr, r.Servers()...)
		remark(stderr, r.Notes()...)
		remark(stderr, r.Plan()...)
	}
	result, err := r.Run(ctx)
	bar.stop()
	if err != nil {
		return fail(err)
	}
	return f.print(cmd, result)
}

// print prints a result and judges it.
func (f *replayFlags) print(cmd *cobra.Command, r *live.Result) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	var err error
	if f.json {
		err = printJSON(stdout, r)
	} else {
		err = r.WriteText(stdout)
	}
	if err != nil {
		return fail(err)
	}
	if !f.quiet {
		for _, one := range r.Repetitions {
			if one.Dir != "" {
				remark(stderr, "files of the run: "+one.Dir)
			}
		}
	}
	switch {
	case r.Interrupted:
		remark(stderr, "interrupted: the figures are those of what was done by then")
		return errInterrupted
	case !r.Faithful() && !f.allow:
		return fail(errors.New("the run is not faithful (--allow-unfaithful accepts it)"))
	}
	return nil
}

// resolve turns flags into settings.
func (f *replayFlags) resolve(cmd *cobra.Command) (err error) {
	s := &f.settings
	if f.out == "" && cmd.Flags().Changed("out") {
		return errors.New("--out: \"\": want a folder")
	}
	if s.Tools, err = live.ParsePace(f.tools); err != nil {
		return fmt.Errorf("--tools: %w", err)
	}
	if s.Think, err = live.ParsePace(f.think); err != nil {
		return fmt.Errorf("--think: %w", err)
	}
	if s.ToolCommands, err = named(f.toolCommands, "=", "--tool-command"); err != nil {
		return err
	}
	headers, err := named(f.header, ":", "--header")
	if err != nil {
		return err
	}
	f.headers = http.Header{}
	for name, value := range headers {
		f.headers.Set(name, value)
	}
	s.RampMs, s.RetryDelayMs = ms(f.ramp), ms(f.retryDelay)
	s.StallMs, s.TimeoutMs, s.ScrapeMs = ms(f.stall), ms(f.timeout), ms(f.scrape)
	s.Stream = !f.noStream
	f.arrival(cmd)
	f.sla(cmd)
	if s.Run == "" {
		s.Run = rand.Text()[:12]
	}
	return nil
}

// ms is a duration in ms.
func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// named reads values of the form NAME=VALUE.
func named(list []string, separator, flag string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, separator)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s: %q: want NAME%sVALUE", flag, text, separator)
		}
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return values, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/serve"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/tokenize"
)

// serveFlags are the flags of `reprise serve`.
type serveFlags struct {
	listen     string
	model      string
	output     int
	vocabulary int
	tokenizer  string
	speed      float64
	events     string
	again      string
	until      time.Duration
	out        string
	set        []string
	overwrite  bool
	quiet      bool
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [CONFIG.yaml]",
		Short: "Serve a simulated cluster over HTTP",
		Long: `Serve a simulated cluster as an OpenAI-compatible server, in real time: requests are
scheduled, cached, routed and priced as in "reprise simulate", and their tokens come
when the simulation says so. The API is that of vLLM: /v1/completions,
/v1/chat/completions, /inference/v1/generate, /v1/models, /tokenize, /detokenize,
/metrics, /version, /health. No model runs: answers are made up, the same for the same
prompt and seed, unless the request gives the ids. With --tokenizer text has the ids
of a model, and answers are words of its vocabulary.

The configuration is that of "reprise simulate"; its trace and arrival are not used.
--speed 10 lets simulated time run ten times as fast, --speed 0 waits for nothing.

Ctrl-C ends the server: it takes no more requests and serves those that are open. A
second Ctrl-C ends those too. With --out the run leaves the files of a simulation.

Exit codes: 0 the server was ended, 1 it failed, 2 bad command line or configuration.`,
		Example: `  reprise serve examples/serve.yaml --listen 127.0.0.1:0 --for 100ms
  reprise serve examples/serve.yaml --listen 127.0.0.1:0 --for 100ms --out served`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8000", "`ADDRESS` to listen on; port 0 is a free one")
	flags.StringVar(&f.model, "model", "simulated", "`NAME` of the model that is served")
	flags.IntVar(&f.output, "output-tokens", 256, "tokens of an answer whose request sets no limit")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "`DIR` of a model, with its tokenizer.json; without one a token is a byte")
	flags.IntVar(&f.vocabulary, "vocabulary", 0, "number of token ids that are legal; 0: those of the tokenizer")
	flags.Float64Var(&f.speed, "speed", 1, "simulated time per real time; 0: as fast as possible")
	flags.StringVar(&f.events, "kv-events", "", "publish the KV blocks of instances over ZMQ, as vLLM does, at `tcp://HOST:PORT` and the ports behind it")
	flags.StringVar(&f.again, "kv-events-replay", "", "let subscribers ask again for what they missed at `tcp://HOST:PORT` and the ports behind it; needs --kv-events")
	flags.DurationVar(&f.until, "for", 0, "end the server after this time; 0: at Ctrl-C")
	flags.StringVar(&f.out, "out", "", "`DIR` for the files of the run, in place of output.dir")
	flags.StringArrayVar(&f.set, "set", nil, "set a key of the configuration, `key=value`; again for more")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the files of an earlier run in the folder")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks")
	complete(cmd, "set", settings(config.Defaults()))
	return cmd
}

func (f *serveFlags) check(cmd *cobra.Command) error {
	switch {
	case f.out == "" && cmd.Flags().Changed("out"):
		return errors.New("--out: \"\": want a folder")
	case f.model == "":
		return errors.New("--model: \"\": want a name")
	case !(f.speed >= 0 && f.speed <= 1e6):
		return fmt.Errorf("--speed: %v: want a number from 0 to 1e6", f.speed)
	case f.output < 1:
		return fmt.Errorf("--output-tokens: %d: want at least 1", f.output)
	case f.vocabulary < 0 || f.vocabulary > 1<<31:
		return fmt.Errorf("--vocabulary: %d: want a number of token ids, or 0", f.vocabulary)
	case f.again != "" && f.events == "":
		return errors.New("--kv-events-replay: want --kv-events, too")
	case f.until < 0:
		return fmt.Errorf("--for: %v: want a time, or 0", f.until)
	}
	return nil
}

// open is the tokenizer that turns text into ids.
func (f *serveFlags) open() (serve.Tokenizer, error) {
	if f.tokenizer == "" {
		return serve.Bytes{}, nil
	}
	m, err := tokenize.Open(f.tokenizer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--tokenizer: %w", err)
	case len(m.Words()) == 0:
		return nil, fmt.Errorf("--tokenizer: %s: no token to make up answers from: want one whose text has its id", f.tokenizer)
	case f.vocabulary != 0 && f.vocabulary < m.Vocabulary():
		return nil, fmt.Errorf("--vocabulary: %d: want at least the %d ids of the tokenizer", f.vocabulary, m.Vocabulary())
	}
	return m, nil
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	words, err := f.open()
	if err != nil {
		return err
	}
	sources := config.Sources{Out: f.out, Set: f.set, Served: true}
	if len(args) == 1 {
		sources.File = args[0]
	}
	c, err := config.Load(sources)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close()
	var v *config.Serving
	var events *serve.KVEvents
	options := config.Options{Tool: tool(), Overwrite: f.overwrite}
	if f.events != "" {
		options.Blocks = func(in *cluster.Instance, e *engine.BlockEvent, atMs float64) { events.Tell(v.Position(in), e, atMs) }
	}
	v, err = config.PrepareServing(c, options)
	if errors.Is(err, rundir.ErrHoldsRun) {
		return fmt.Errorf("%w: --overwrite", err)
	}
	if err != nil {
		return err
	}
	if !f.quiet {
		remark(cmd.ErrOrStderr(), v.Notes()...)
		remark(cmd.ErrOrStderr(), fmt.Sprintf("serving %s on http://%s (Ctrl-C to end)", f.model, listener.Addr()))
	}
	if events, err = f.publisher(cmd.Context(), v.Instances(), c.Engine.BlockSize); err != nil {
		return errors.Join(err, v.Abort())
	}
	end, err := f.serve(cmd.Context(), listener, words, v, events)
	if err != nil {
		return fail(errors.Join(err, v.Abort()))
	}
	result, err := v.Finish(end)
	if err != nil {
		return fail(err)
	}
	if err := printSummary(cmd.OutOrStdout(), result, false); err != nil {
		return fail(err)
	}
	if result.Dir != "" && !f.quiet {
		remark(cmd.ErrOrStderr(), "files of the run: "+result.Dir)
	}
	return nil
}

// publisher publishes the KV events of n instances, nil if nobody asks for them.
func (f *serveFlags) publisher(ctx context.Context, n, blockSize int) (*serve.KVEvents, error) {
	if f.events == "" {
		return nil, nil
	}
	events, err := serve.NewKVEvents(ctx, f.events, n, blockSize)
	if err != nil {
		return nil, fmt.Errorf("--kv-events: %w", err)
	}
	if f.again != "" {
		if err := events.Replay(ctx, f.again); err != nil {
			return nil, fmt.Errorf("--kv-events-replay: %w", err)
		}
	}
	return events, nil
}

// serve answers requests until somebody ends the server.
func (f *serveFlags) serve(parent context.Context, listener net.Listener, words serve.Tokenizer, v *config.Serving, events *serve.KVEvents) (simulate.End, error) {
	closing, now, stop := f.ends(parent)
	defer stop()
	c := v.Config()
	backend := serve.NewBackend(f.speed, v.Stepper)
	server := serve.NewServer(backend, serve.Options{
		Model: f.model, Tokenizer: words, Vocabulary: f.vocabulary, ContextTokens: v.ContextTokens(), OutputTokens: f.output,
		Priorities: c.Engine.VLLM.Policy == "priority", Seed: uint64(c.Seed), Version: build().String(),
		BlockSize: c.Engine.BlockSize, Blocks: c.Engine.NumGPUBlocks, Events: events,
	})
	return serve.Listen(listener, server, backend, closing, now)
}

// ends are contexts that the first and the second Ctrl-C (or SIGTERM) cancel; the time
// of --for is a first one.
func (f *serveFlags) ends(parent context.Context) (closing, now context.Context, stop func()) {
	now, second := context.WithCancel(parent)
	closing, first := context.WithCancel(now)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go watch(signals, done, first, second)
	if f.until > 0 {
		time.AfterFunc(f.until, first)
	}
	return closing, now, func() {
		signal.Stop(signals)
		close(done)
		second()
	}
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/synth"
	"github.com/reprise-sim/reprise/trace"
)

// generateFlags are the flags of `reprise trace generate`. Those that are short for
// a key come after the file and before each --set.
type generateFlags struct {
	out   outputFlags
	spec  string
	set   []string
	short []config.Short // the short flags that were given
}

func newTraceGenerate() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make a synthetic trace",
		Long: `Make a synthetic trace: arrivals, lengths, shared prefixes and sessions by chance with
a seed. The same description gives the same trace everywhere; one with more tasks
begins with the same ones.

A description is a YAML file; --set sets any of its keys:
  tasks, seed, block_size      how much
  arrival                      process: burst, constant, poisson, gamma; rate (per second),
                               smoothness or cv
  input, turn_input, output    distribution: fixed (value), uniform (mean, range_ratio),
                               normal, lognormal (mean, std), exponential (mean),
                               empirical (values, weights); min, max
  turns, think, keep_output    sessions: calls, pauses in ms, outputs in later prompts
  system_prefix_tokens, prefix_groups, shared_prefix_ratio
                               what prompts have in common`,
		Example: `  reprise trace generate --tasks 500 --rate 4 --input 2000 --output 200 --out made.jsonl
  reprise trace generate --spec examples/chat.yaml --set tasks=50 --out chat.jsonl
  reprise trace generate --tasks 3 --to mooncake`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.out.add(cmd, trace.Native, "")
	flags := cmd.Flags()
	flags.StringVar(&f.spec, "spec", "", "YAML `FILE` that describes the trace")
	flags.StringArrayVar(&f.set, "set", nil, "set a key of the description, `key=value`; again for more")
	complete(cmd, "set", settings(synth.Defaults()))
	for _, short := range []struct{ flag, key, doc string }{
		{"tasks", "tasks=%s", "`number` of tasks"},
		{"seed", "seed=%s", "`seed` of all random numbers"},
		{"rate", "arrival={process: poisson, rate: %s}", "poisson arrivals at this `rate` per second"},
		{"input", "input={distribution: fixed, value: %s}", "prompt `tokens` of every request"},
		{"output", "output={distribution: fixed, value: %s}", "output `tokens` of every request"},
		{"turns", "turns={distribution: fixed, value: %s}", "`calls` of every session"},
		{"think-ms", "think={distribution: fixed, value: %s}", "pause of so many `ms` between the calls of a session"},
	} {
		flags.Func(short.flag, short.doc, func(value string) error {
			f.short = append(f.short, config.Short{Flag: "--" + short.flag + " " + value, Set: fmt.Sprintf(short.key, value)})
			return nil
		})
	}
	return cmd
}

func (f *generateFlags) run(cmd *cobra.Command) error {
	writing, stop := whilePreparing(cmd.Context())
	defer stop()
	spec, err := config.LoadSpec(f.spec, f.short, f.set)
	if err != nil {
		return err
	}
	t, err := synth.New(spec)
	if err != nil {
		return err
	}
	src, err := t.Tasks()
	if err != nil {
		return fail(err)
	}
	return f.out.write(writing(), cmd, t.Header(), src)
}

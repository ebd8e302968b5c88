package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/fit"
	"github.com/reprise-sim/reprise/latency/predict"
)

// fitFlags are the flags of `reprise fit`.
type fitFlags struct {
	logs       []string
	out        string
	settings   latency.Settings
	deployment latency.Deployment
	json       bool
}

func newFit() *cobra.Command {
	f := fitFlags{settings: latency.Defaults()}
	f.settings.Model = "roofline"
	cmd := &cobra.Command{
		Use:   "fit [RUN]…",
		Short: "Fit a latency model to measured passes",
		Long: `Fit a latency model to a log of passes: passes.jsonl of a run (output.passes), or that of a real
server. With --gpu and --model the parts of the roofline are weighed, near what is known of the engine;
without, the model is linear in the sums of a pass. Weights are never negative; outliers count less;
the errors that are told are those of blocks of time that were held out. The file that is
written is a model (latency.model: fitted, latency.path) with everything that is known of it.`,
		Example: `  reprise simulate examples/mooncake.yaml --set limits.requests=200 --set output.passes=true --out measured
  reprise fit measured --out model.json
  reprise simulate examples/mooncake.yaml --set latency.model=fitted --set latency.path=model.json --set limits.requests=50`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.OutOrStdout(), args) },
	}
	flags, s := cmd.Flags(), &f.settings
	flags.StringArrayVar(&f.logs, "pass-log", nil, "`FILE` of passes, one JSON object a line; again for more")
	flags.StringVar(&f.out, "out", "", "`FILE` for the model; it is not written if left out")
	flags.StringVar(&s.GPU, "gpu", "", "`GPU` that the passes ran on")
	flags.StringVar(&s.ModelName, "model", "", "language `MODEL` that they ran")
	flags.StringVar(&s.Weights, "weights", "", "number `FORMATS` of the weights")
	flags.StringVar(&s.KVCache, "kv-cache-dtype", "", "number `FORMAT` of the KV cache")
	flags.StringVar(&s.Engine, "engine", "vllm", "`PRESET` of the engine")
	flags.IntVar(&f.deployment.TensorParallel, "tp", 1, "GPUs of a rank")
	flags.IntVar(&f.deployment.DataParallel, "dp", 1, "attention data-parallel ranks")
	flags.IntVar(&s.ExpertGPUs, "ep", 0, "groups of GPUs that share the experts")
	flags.BoolVar(&f.json, "json", false, "print the model as JSON")
	return cmd
}

func (f *fitFlags) run(w io.Writer, runs []string) error {
	paths := f.logs
	for _, dir := range runs {
		paths = append(paths, filepath.Join(dir, "passes.jsonl"))
	}
	if len(paths) == 0 {
		return fmt.Errorf("want the folder of a run with passes.jsonl, or --pass-log FILE")
	}
	log, digest, err := readLogs(paths)
	if err != nil {
		return err
	}
	f.deployment.Backend = f.settings.Engine
	base := fit.SumsBase
	if predict.Hardware(f.settings) {
		base = func([]fit.Logged) (fit.Base, error) { return predict.RooflineBase(f.settings, f.deployment) }
	}
	card, err := fit.PassLog(log, base)
	if err != nil {
		return err
	}
	card.Data, card.Digest = strings.Join(paths, ", "), digest
	if predict.Hardware(f.settings) {
		card.Settings, card.Deployment = &f.settings, &f.deployment
	}
	if err := f.write(card); err != nil {
		return fail(err)
	}
	if f.json {
		return fail(printJSON(w, card))
	}
	return fail(printCard(w, card))
}

// readLogs reads pass logs one after the other.
func readLogs(paths []string) (log []fit.Logged, digest string, err error) {
	sum := sha256.New()
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, "", err
		}
		more, err := fit.ReadPassLog(path, io.TeeReader(file, sum))
		file.Close()
		if err != nil {
			return nil, "", err
		}
		log = append(log, more...)
	}
	return log, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes the model, if a file is named.
func (f *fitFlags) write(card *fit.Card) error {
	if f.out == "" {
		return nil
	}
	text, err := json.MarshalIndent(card, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.out, append(text, '\n'), 0o666)
}

// printCard prints what is known of a model.
func printCard(w io.Writer, c *fit.Card) error {
	fmt.Fprintf(w, "%s: %s\n", c.Base, predict.Formula(c))
	fmt.Fprintf(w, "fitted to %d passes; left out: %d of warm-up, %d stalled, %d empty, %d of kinds that there were enough of\n",
		c.Passes, c.Dropped.WarmUp, c.Dropped.Stalled, c.Dropped.Empty, c.Dropped.Crowded)
	for _, e := range []struct {
		name string
		fit.Errors
	}{{"held out", c.HeldOut.All}, {"  decodes", c.HeldOut.Decode}, {"  prompts", c.HeldOut.Prefill}, {"  mixed", c.HeldOut.Mixed}, {"in sample", c.InSample}} {
		if e.Count > 0 {
			fmt.Fprintf(w, "%-10s %6d passes: mean error %.1f %%, median %.1f %%, P90 %.1f %%, P99 %.1f %%, bias %+.1f %%\n", e.name, e.Count, e.MAPE, e.Median, e.P90, e.P99, e.Bias)
		}
	}
	_, err := fmt.Fprintf(w, "domain: %d to %d new tokens, %d to %d decodes, %d to %d tokens of context\n",
		c.Domain.Tokens[0], c.Domain.Tokens[1], c.Domain.Decodes[0], c.Domain.Decodes[1], c.Domain.Context[0], c.Domain.Context[1])
	return err
}

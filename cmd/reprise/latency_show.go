package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/capacity"
	"github.com/reprise-sim/reprise/latency/predict"
	"github.com/reprise-sim/reprise/latency/roofline"
)

// showFlags are the flags of `reprise latency show`.
type showFlags struct {
	settings   latency.Settings
	deployment latency.Deployment
	memory     capacity.Settings
	prompts    []string
	decodes    []string
	json       bool
}

func newLatencyShow() *cobra.Command {
	f := showFlags{settings: latency.Defaults(), deployment: latency.Deployment{Backend: "vllm"}}
	f.settings.Model = "roofline"
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what a pass costs, operator by operator",
		Long: `Show what a pass costs on a GPU, operator by operator: time, share, FLOPs, bytes, how near the
operator is to full speed, and where its constants are from; and the memory.

--prefill N@BEFORE is a chunk of N new prompt tokens behind BEFORE cached ones, --decodes N@CONTEXT
are N requests that decode with CONTEXT tokens each. Several --decodes, or several prefills,
show a table of passes instead of one pass in detail.`,
		Example: `  reprise latency show --gpu h100-sxm --model llama-3.1-8b --decodes 32@2048
  reprise latency show --gpu h200-sxm --model deepseek-v3 --tp 8 --prefill 2048@0 --decodes 64@4096
  reprise latency show --gpu b200-sxm --model llama-3.1-70b --tp 2 --weights fp8 --decodes 1@1024 --decodes 32@1024 --decodes 256@1024`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	flags, s := cmd.Flags(), &f.settings
	flags.StringVar(&s.GPU, "gpu", "", "`GPU` of the catalogue, or a .csv file with one")
	flags.StringVar(&s.ModelName, "model", "", "language `MODEL` of the catalogue, or the path of its config.json")
	flags.StringVar(&s.Weights, "weights", "", "number `FORMATS` of the weights; as the checkpoint says if left out")
	flags.StringVar(&s.KVCache, "kv-cache-dtype", "", "number `FORMAT` of the KV cache")
	flags.StringVar(&s.Routing, "routing", "", "which experts tokens choose: recorded, random or `uniform`")
	flags.StringVar(&s.Engine, "engine", "vllm", "`PRESET` of the engine: plain, vllm, sglang, trtllm, vllm-eager")
	flags.StringVar(&s.Calibration, "calibration", "", "auto or `off`")
	flags.IntVar(&f.deployment.TensorParallel, "tp", 1, "GPUs of a rank")
	flags.IntVar(&f.deployment.DataParallel, "dp", 1, "attention data-parallel ranks")
	flags.IntVar(&s.Pipeline, "pp", 0, "pipeline stages")
	flags.IntVar(&s.ExpertGPUs, "ep", 0, "groups of GPUs that share the experts")
	flags.Float64Var(&f.memory.Utilization, "gpu-memory-utilization", 0.9, "fraction of the memory that the engine may use")
	flags.IntVar(&f.memory.BlockSize, "block-size", 16, "tokens in a KV block")
	flags.IntVar(&f.memory.MaxTokens, "max-num-batched-tokens", 8192, "token budget of a pass")
	flags.IntVar(&f.memory.MaxSeqs, "max-num-seqs", 256, "most requests running at once")
	flags.StringArrayVar(&f.prompts, "prefill", nil, "chunk of a prompt, `N@BEFORE`; again for more")
	flags.StringArrayVar(&f.decodes, "decodes", nil, "decodes, `N@CONTEXT`; again for more passes")
	flags.BoolVar(&f.json, "json", false, "print it as JSON")
	return cmd
}

// pass is a pass that is shown.
type pass struct {
	Name  string          `json:"name"`
	Ms    float64         `json:"ms"`
	Lines []roofline.Line `json:"lines,omitempty"`
	sums  latency.Pass
}

// shown is what the command finds out.
type shown struct {
	Model    string              `json:"model"`
	Predicts string              `json:"predicts"`
	Memory   *capacity.Breakdown `json:"memory"`
	Problem  string              `json:"memory_problem,omitempty"`
	Passes   []pass              `json:"passes"`
}

func (f *showFlags) run(w io.Writer) error {
	if err := f.settings.Validate(); err != nil {
		return err
	}
	setup, err := predict.Setup(f.settings, f.deployment)
	if err != nil {
		return err
	}
	m, err := roofline.New(setup)
	if err != nil {
		return err
	}
	passes, err := f.passes(m)
	if err != nil {
		return err
	}
	s := shown{Model: m.Name(), Predicts: m.Predicts()}
	memory, err := predict.Memory(f.settings, f.deployment, f.memory)
	if s.Memory = &memory; err != nil {
		s.Problem = err.Error()
	}
	for _, p := range passes {
		d, err := m.Cost(&p.sums)
		if err != nil {
			return err
		}
		p.Ms, p.Lines = d.PrefillMs+d.DecodeMs, m.Explain(&p.sums)
		s.Passes = append(s.Passes, p)
	}
	if f.json {
		return fail(printJSON(w, s))
	}
	return fail(f.print(w, &s))
}

// passes are the passes that the flags describe: all prompts and the decodes in one,
// or a pass for each if there are several decodes or only prompts.
func (f *showFlags) passes(m *roofline.Model) ([]pass, error) {
	base := latency.Pass{Window: m.Window()}
	single := len(f.decodes) <= 1
	var list []pass
	for _, text := range f.prompts {
		n, before, err := pair("--prefill", text)
		if err != nil {
			return nil, err
		}
		p := latency.Pass{Window: m.Window()}
		if single {
			p = base
		}
		p.AddPrefill(n, before)
		p.Sampled++
		if single {
			base = p
		} else {
			list = append(list, pass{Name: "prefill " + text, sums: p})
		}
	}
	for _, text := range f.decodes {
		n, context, err := pair("--decodes", text)
		if err != nil {
			return nil, err
		}
		p := base
		for range n {
			p.AddDecode(context)
		}
		p.Sampled += n
		list = append(list, pass{Name: f.name(text, single), sums: p})
	}
	if len(f.decodes) == 0 && len(f.prompts) > 0 {
		list = append(list, pass{Name: f.name("", true), sums: base})
	}
	return list, nil
}

// name names a pass.
func (f *showFlags) name(decodes string, withPrompts bool) string {
	var parts []string
	if withPrompts && len(f.prompts) > 0 {
		parts = append(parts, "prefill "+strings.Join(f.prompts, ", "))
	}
	if decodes != "" {
		parts = append(parts, "decodes "+decodes)
	}
	return strings.Join(parts, " and ")
}

// pair reads N@M, two counts; M may be left out.
func pair(flag, text string) (n, m int64, err error) {
	first, second, both := strings.Cut(text, "@")
	n, err = strconv.ParseInt(first, 10, 32)
	if err == nil && both {
		m, err = strconv.ParseInt(second, 10, 32)
	}
	if err != nil || n < 1 || m < 0 {
		return 0, 0, fmt.Errorf("%s %s: want N@M, whole numbers of tokens or requests", flag, text)
	}
	return n, m, nil
}

// print prints what was found out for people.
func (f *showFlags) print(w io.Writer, s *shown) error {
	fmt.Fprintf(w, "%s\n%s\n", s.Model, s.Predicts)
	if s.Problem != "" {
		fmt.Fprintf(w, "memory: %s\n", s.Problem)
	} else {
		fmt.Fprintf(w, "memory: %s\n", predict.Explain(s.Memory, f.memory.BlockSize))
	}
	if len(s.Passes) == 1 {
		return printPass(w, &s.Passes[0])
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w)
	for _, p := range s.Passes {
		fmt.Fprintf(t, "%.3f ms\t %s\n", p.Ms, p.Name)
	}
	return t.Flush()
}

// printPass prints one pass line by line.
func printPass(w io.Writer, p *pass) error {
	fmt.Fprintf(w, "\n%s: %.3f ms\n\n", p.Name, p.Ms)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "operator\tms\tshare\tGFLOP\tGB\tof full speed\t from")
	for _, l := range p.Lines {
		light, source := "–", l.From.String()
		if l.Source != "" {
			source += ": " + l.Source
		}
		if l.LimitMs > 0 {
			light = fmt.Sprintf("%.0f %%", 100*l.LimitMs/l.Ms)
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.1f %%\t%.4g\t%.4g\t%s\t %s\n", l.Name, l.Ms, 100*l.Ms/p.Ms, l.FLOPs/1e9, (l.Bytes+l.Message)/1e9, light, source)
	}
	return t.Flush()
}

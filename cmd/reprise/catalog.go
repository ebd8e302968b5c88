package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/arch"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/trace/formats"
)

// entry is something that a configuration can name.
type entry struct {
	Name     string   `json:"name"`
	Key      string   `json:"key,omitempty"` // that names it, where the list has several
	Rules    []string `json:"rules,omitempty"`
	Settings []string `json:"settings,omitempty"`
	About    string   `json:"about"`
}

// catalog is what is built in, by kind.
var catalog = []struct {
	kind, short string
	entries     func() []entry
}{
	{"engines", "Serving engines and their rule sets (engine.backend, engine.rules)", engines},
	{"routers", "Policies that choose the instance and the bucket (cluster.router.mode, cluster.global_router.mode)", routers},
	{"latency", "Latency models (latency.model)", latencyModels},
	{"formats", "Formats of traces (trace.format)", traceFormats},
	{"gpus", "GPUs that passes can be priced on (latency.gpu)", gpus},
	{"models", "Language models whose passes can be priced (latency.model_name)", languageModels},
}

func newCatalog() *cobra.Command {
	var lists []*cobra.Command
	for _, c := range catalog {
		asJSON := false
		list := &cobra.Command{
			Use:   c.kind,
			Short: c.short,
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if asJSON {
					return fail(printJSON(cmd.OutOrStdout(), c.entries()))
				}
				return fail(printEntries(cmd.OutOrStdout(), c.entries()))
			},
		}
		list.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
		lists = append(lists, list)
	}
	return group("catalog", "List what is built in", `  reprise catalog engines
  reprise catalog formats --json`, lists...)
}

// printEntries prints entries one a line, those of each key below it.
func printEntries(w io.Writer, entries []entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	key := ""
	for _, e := range entries {
		if e.Key != key {
			key = e.Key
			fmt.Fprintf(t, "%s:\n", key)
		}
		about := e.About
		if len(e.Rules) > 0 {
			about += " (rules: " + strings.Join(e.Rules, ", ") + ")"
		}
		if len(e.Settings) > 0 {
			about += " (settings: " + strings.Join(e.Settings, ", ") + ")"
		}
		fmt.Fprintf(t, "%s\t%s\n", e.Name, about)
	}
	return t.Flush()
}

func engines() (list []entry) {
	for _, b := range engine.Builders() {
		list = append(list, entry{Name: b.Backend, Rules: b.Rules, About: b.Doc})
	}
	return list
}

func routers() (list []entry) {
	for _, p := range routing.Policies() {
		list = append(list, entry{Name: p.Mode, Key: "cluster.router.mode", Settings: p.Keys, About: p.Doc})
	}
	for _, p := range routing.GlobalPolicies() {
		list = append(list, entry{Name: p.Mode, Key: "cluster.global_router.mode", Settings: p.Keys, About: p.Doc})
	}
	return list
}

func latencyModels() (list []entry) {
	for _, name := range latency.Names() {
		list = append(list, entry{Name: name, About: latency.About(name)})
	}
	return list
}

func traceFormats() (list []entry) {
	for _, f := range formats.All() {
		list = append(list, entry{Name: f.Name, About: f.About})
	}
	return list
}

func gpus() (list []entry) {
	for _, g := range hardware.All() {
		about := fmt.Sprintf("%s, %.4g TFLOP/s bf16", g.Generation, g.BF16/1e12)
		if g.FP8 > 0 {
			about += fmt.Sprintf(", %.4g fp8", g.FP8/1e12)
		}
		if g.FP4 > 0 {
			about += fmt.Sprintf(", %.4g fp4", g.FP4/1e12)
		}
		about += fmt.Sprintf(", %.0f GB/s, %.1f GB, link %.0f GB/s; source %s", g.Bandwidth/1e9, g.Memory/1e9, g.Link/1e9, g.Source)
		list = append(list, entry{Name: g.Name, About: about})
	}
	return list
}

func languageModels() (list []entry) {
	for _, m := range arch.All() {
		list = append(list, entry{Name: m.Name, About: fmt.Sprintf("%d layers, %.4g B parameters, %.4g B active, %.4g KiB of bf16 cache a token, weights %s; source %s",
			m.Depth(), float64(m.Total())/1e9, float64(m.Active())/1e9, m.KVBytesPerToken(precision.BF16)/1024, m.Weights, m.Source)})
	}
	return list
}

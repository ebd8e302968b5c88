package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newRoot is the command that all others are part of.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "Replay LLM serving workloads exactly",
		Long: `Reprise replays LLM serving workloads exactly: the requests of a recorded trace,
on a simulated cluster or on live servers. The same trace, configuration and seed give
the same simulation.`,
		Example: `  reprise simulate examples/mooncake.yaml
  reprise simulate --trace examples/mooncake.jsonl.gz --set cluster.num_instances=4
  reprise trace info examples/mooncake.jsonl.gz`,
		Version:       build().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newSimulate(), newReplay(), newRecord(), newServe(), newExplain(), newTrace(), newLatency(), newFit(), newCatalog(), newSchema(), newVersion())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // it comes with the library, and takes any word
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// group is a command that does nothing but hold others.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

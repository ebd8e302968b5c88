package main

import "github.com/spf13/cobra"

func newLatency() *cobra.Command {
	return group("latency", "What a pass costs, and how far that is from measurements", `  reprise latency show --gpu h100-sxm --model llama-3.1-8b --decodes 32@2048
  reprise latency validate --source blis-kv-blocks`, newLatencyShow(), newLatencyValidate())
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema (draft 2020-12) of the configuration. Editors that know YAML
complete keys and check values with it.`,
		Example: `  reprise schema > reprise.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := config.Schema()
			if err != nil {
				return fail(err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return fail(err)
		},
	}
}

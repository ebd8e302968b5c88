package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config/keys"
)

// oneOf offers words.
func oneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// settings offers the keys of a settings struct that holds its defaults and, behind
// the sign of equality, the words that a key allows.
func settings(defaults any) cobra.CompletionFunc {
	all := leaves(keys.Walk(defaults))
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offers []string
		path, _, named := strings.Cut(typed, "=")
		for _, k := range all {
			switch {
			case named && path == k.Path:
				for _, word := range k.Enum {
					offers = append(offers, path+"="+word)
				}
			case !named:
				offers = append(offers, k.Path+"=\t"+k.Doc)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// leaves are the keys that are no sections.
func leaves(all []keys.Key) (out []keys.Key) {
	for _, k := range all {
		if k.Keys == nil {
			out = append(out, k)
		}
		out = append(out, leaves(k.Keys)...)
	}
	return out
}

// complete says what shells offer for a flag of a command.
func complete(cmd *cobra.Command, flag string, offers cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offers); err != nil {
		panic(err) // there is no such flag
	}
}

package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/rundir"
)

// version and commit are what a build sets (-ldflags -X main.commit=…); the
// version that stands here is the one that is being worked on.
var (
	version = "0.1.0-dev"
	commit  = ""
)

// unknownCommit is what stands for a commit that nobody knows.
const unknownCommit = "unknown"

// built says which program this is.
type built struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (b built) String() string {
	return fmt.Sprintf("reprise %s (commit %s, %s)", b.Version, b.Commit, b.Go)
}

// build finds out which program this is: from what the build set, from what the go
// command stamped, else from the checkout that the sources stand in.
func build() built {
	b := built{version, commit, runtime.Version()}
	if b.Commit == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			b.Commit = stamped(info)
		}
	}
	if b.Commit == "" {
		b.Commit = checkoutCommit()
	}
	if b.Commit == "" {
		b.Commit = unknownCommit
	}
	return b
}

// stamped is the commit that the go command noted, "" if it noted none.
func stamped(info *debug.BuildInfo) string {
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "-dirty"
			}
		}
	}
	if revision == "" {
		return fetched(info.Main.Version)
	}
	return revision + modified
}

// pseudoVersion ends in the first letters of a commit: v0.0.0-20260101120000-0123456789ab.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`)

// fetched is the commit of a module that the go command fetched ("go install
// MODULE@VERSION"), "" if its version does not say.
func fetched(version string) string {
	if m := pseudoVersion.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return ""
}

// tool is the program as run.json has it.
func tool() rundir.Tool {
	b := build()
	return rundir.Tool{Version: b.Version, Commit: b.Commit}
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return fail(printJSON(cmd.OutOrStdout(), build()))
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), build())
			return fail(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

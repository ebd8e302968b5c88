package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/trace/mooncake"
)

func newTrace() *cobra.Command {
	return group("trace", "Look at, check, turn and make traces", `  reprise trace info examples/mooncake.jsonl.gz
  reprise trace generate --tasks 200 --out made.jsonl`,
		newTraceInfo(), newTraceValidate(), newTraceSlice(), newTraceConvert(), newTraceGenerate())
}

// traceFlags say how the files of a trace are to be read.
type traceFlags struct {
	settings  config.Trace
	blockSize int
}

// add adds the flags to a command.
func (f *traceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.settings = config.Defaults().Trace
	flags.StringVar(&f.settings.Format, "format", f.settings.Format, "format of the files (see: reprise catalog formats)")
	flags.IntVar(&f.blockSize, "block-size", 0, "tokens of a block id; not given: as the format says")
	flags.StringVar(&f.settings.IDs, "ids", f.settings.IDs, "where equal block ids are equal content: global, file, session")
	flags.StringVar(&f.settings.IDsCover, "ids-cover", f.settings.IDsCover, "which blocks have ids: started, full")
	complete(cmd, "format", oneOf(append([]string{f.settings.Format}, formats.Names()...)...))
	complete(cmd, "ids", oneOf(f.settings.IDs, trace.IDsGlobal, trace.IDsFile, trace.IDsSession))
	complete(cmd, "ids-cover", oneOf(f.settings.IDsCover, trace.CoverStarted, trace.CoverFull))
}

// someFiles wants the files of a trace.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no file: want that of a trace\nSee: %s --help", cmd.CommandPath())
	}
	return nil
}

// open opens the trace in some files.
func (f *traceFlags) open(cmd *cobra.Command, paths []string) (trace.Trace, error) {
	s := f.settings
	s.Path = paths
	if cmd.Flags().Changed("block-size") {
		s.BlockSize = &f.blockSize
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.Open()
}

// outputFlags say where a trace is written and how.
type outputFlags struct {
	out       string
	to        string
	overwrite bool
}

func (f *outputFlags) add(cmd *cobra.Command, format, formatDoc string) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "-", "`FILE` to write; .gz and .zst are compressed; -: standard output")
	flags.StringVar(&f.to, "to", format, "format to write: native, mooncake"+formatDoc)
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file if it exists")
	complete(cmd, "to", oneOf(trace.Native, mooncake.Name))
}

// create starts the output.
func (f *outputFlags) create(cmd *cobra.Command, h trace.Header) (trace.Sink, error) {
	toStdout := f.out == "-"
	if _, err := os.Stat(f.out); err == nil && !toStdout && !f.overwrite {
		return nil, fmt.Errorf("%s: exists: want a new name, or --overwrite", f.out)
	}
	switch {
	case f.to == trace.Native && toStdout:
		return trace.NewWriter(cmd.OutOrStdout(), h)
	case f.to == trace.Native:
		return trace.Create(f.out, h)
	case f.to == mooncake.Name && toStdout:
		return mooncake.NewWriter(cmd.OutOrStdout(), h), nil
	case f.to == mooncake.Name:
		return mooncake.Create(f.out, h)
	}
	return nil, fmt.Errorf("--to: %s: want native or mooncake", f.to)
}

// write writes all tasks of a source, which it closes, and says how many they were.
// If ctx is cancelled it ends, and no file is left.
func (f *outputFlags) write(ctx context.Context, cmd *cobra.Command, h trace.Header, src trace.Source) error {
	dst, err := f.create(cmd, h)
	if err != nil {
		src.Close()
		return err
	}
	tasks, err := trace.Save(dst, trace.Until(ctx, src))
	if err != nil {
		return fail(err)
	}
	if f.out != "-" {
		remark(cmd.ErrOrStderr(), fmt.Sprintf("%s: %s written", f.out, count(tasks, "task")))
	}
	return nil
}

// count is n things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/mooncake"
)

// sliceFlags are the flags of `reprise trace slice`.
type sliceFlags struct {
	in            traceFlags
	out           outputFlags
	offset, tasks int
	fromMs, toMs  float64
}

func newTraceSlice() *cobra.Command {
	var f sliceFlags
	cmd := &cobra.Command{
		Use:   "slice FILE...",
		Short: "Write a part of a trace",
		Long: `Write a part of a trace: some tasks (requests or whole sessions) by their number in
order of time, or those that arrive in a window of time. Tasks stay whole and keep
their times.`,
		Example: `  reprise trace slice examples/mooncake.jsonl.gz --tasks 100 --out first.jsonl
  reprise trace slice examples/mooncake.jsonl.gz --from-ms 60000 --to-ms 120000 --out minute.jsonl`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.in.add(cmd)
	f.out.add(cmd, "", "; not given: that of the input")
	flags := cmd.Flags()
	flags.IntVar(&f.offset, "offset", 0, "tasks to leave out at the start")
	flags.IntVar(&f.tasks, "tasks", math.MaxInt, "tasks to write at most")
	flags.Float64Var(&f.fromMs, "from-ms", math.Inf(-1), "tasks that arrive at that recorded time or later")
	flags.Float64Var(&f.toMs, "to-ms", math.Inf(1), "tasks that arrive before that recorded time")
	for _, name := range []string{"tasks", "from-ms", "to-ms"} {
		flags.Lookup(name).DefValue = "0" // the help does not show it: no bound
	}
	return cmd
}

func (f *sliceFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.offset < 0:
		return fmt.Errorf("--offset: %d: want 0 or more", f.offset)
	case f.tasks < 0:
		return fmt.Errorf("--tasks: %d: want 0 or more", f.tasks)
	case !(f.fromMs < f.toMs):
		return fmt.Errorf("--from-ms, --to-ms: %v, %v: want a window that begins before it ends", f.fromMs, f.toMs)
	}
	writing, stop := whilePreparing(cmd.Context())
	defer stop()
	t, err := f.in.open(cmd, args)
	if err != nil {
		return err
	}
	if f.out.to == "" {
		f.out.to = trace.Native
		if t.Header().Format == mooncake.Name {
			f.out.to = mooncake.Name
		}
	}
	src, err := t.Tasks()
	if err != nil {
		return fail(err)
	}
	if cmd.Flags().Changed("from-ms") || cmd.Flags().Changed("to-ms") {
		src = trace.Between(src, f.fromMs, f.toMs)
	}
	return f.out.write(writing(), cmd, t.Header(), trace.Slice(src, f.offset, f.tasks))
}

package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// gcPercent trades a little memory for time: the heap is small, and a tenth of a
// run would go to collecting it at Go's own 100.
const gcPercent = 200

// run is the program without the process around it; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return report(root.ExecuteContext(context.Background()), stderr)
}

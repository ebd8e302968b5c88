//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program builds `reprise` when it is first asked for, into the folder of the suite.
var program = sync.OnceValues(func() (string, error) {
	at := filepath.Join(scratch, "bin", "reprise")
	if out, err := exec.Command("go", "build", "-o", at, "../cmd/reprise").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return at, nil
})

// outcome is what a run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// reprise runs the program.
func reprise(t *testing.T, args ...string) outcome {
	t.Helper()
	at, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(at, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must is reprise, and wants it to succeed.
func must(t *testing.T, args ...string) outcome {
	t.Helper()
	o := reprise(t, args...)
	if o.code != 0 {
		t.Fatalf("reprise %q: exit code %d\n%s\n%s", args, o.code, o.stdout, o.stderr)
	}
	return o
}

// file writes a text and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// envFolder names the folder that keeps the installed server between runs.
const envFolder = "REPRISE_E2E_DIR"

// errNoPackages is that there is nowhere to install from (env/install.sh).
var errNoPackages = errors.New("the package index does not serve what is needed, or there is none")

// Both are set before any test runs.
var (
	folder  string // holds the installed server and its models
	scratch string // what the suite leaves; removed at its end
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if missing := prerequisites(); missing != "" {
		fmt.Printf("e2e: skipped: %s\n", missing)
		return 0
	}
	var err error
	folder, err = install()
	switch {
	case errors.Is(err, errNoPackages):
		fmt.Println("e2e: skipped:", err)
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if scratch, err = os.MkdirTemp("", "reprise-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	defer stopServers()
	return m.Run()
}

// prerequisites says what is missing to run a server here; "" if nothing is.
func prerequisites() string {
	for _, program := range []string{"bash", "curl", "flock", "gcc", "nm", "readelf", "python3.11"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not on the PATH"
		}
	}
	// A version manager's shim is on the PATH even when no such version is chosen.
	if err := exec.Command("python3.11", "-c", "import venv, ensurepip").Run(); err != nil {
		return "python3.11 has no venv"
	}
	numa := `import ctypes; ctypes.CDLL("libnuma.so.1")`
	if err := exec.Command("python3.11", "-c", numa).Run(); err != nil {
		return "libnuma.so.1 is not installed"
	}
	return ""
}

// install brings server and models up to date and returns their folder.
func install() (string, error) {
	at := os.Getenv(envFolder)
	if at == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder, set %s: %w", envFolder, err)
		}
		at = filepath.Join(cache, "reprise", "e2e")
	}
	out, err := exec.Command("bash", filepath.Join("env", "install.sh"), at).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		return "", errNoPackages
	}
	if err != nil {
		return "", fmt.Errorf("install into %s: %w\n%s", at, err, lastLines(string(out), 20))
	}
	return at, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

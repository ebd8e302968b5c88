//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The plug-in's own tests and its types are checked here, because here is a Python
// with torch.
func TestThePluginPassesItsOwnTests(t *testing.T) {
	for name, args := range map[string][]string{
		"tests": {"-m", "pytest", "-q", "-p", "no:cacheprovider"},
		"types": {"-m", "mypy", "--cache-dir", os.DevNull},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(folder, "venv", "bin", "python"), args...)
			cmd.Dir = filepath.Join("..", "integrations", "vllm")
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

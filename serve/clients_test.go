package serve_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-sim/reprise/serve"
)

// clients is the folder that keeps the load tools between runs; "" skips their tests.
var clients = os.Getenv("REPRISE_CLIENTS")

// tools is the environment of a load tool, which is installed from the package index if
// it is not there.
func tools(t *testing.T, name string, packages ...string) string {
	t.Helper()
	if clients == "" {
		t.Skip("set REPRISE_CLIENTS to a folder for the load tools, or run make clients")
	}
	venv := filepath.Join(clients, name)
	if _, err := os.Stat(filepath.Join(venv, "bin", "pip")); err == nil {
		return venv
	}
	python, err := exec.LookPath("python3.11")
	if err != nil {
		t.Skip("there is no python3.11 to install the load tools with")
	}
	command(t, python, "-m", "venv", venv)
	install := exec.Command(filepath.Join(venv, "bin", "pip"), append([]string{"install", "-q"}, packages...)...)
	if text, err := install.CombinedOutput(); err != nil {
		os.RemoveAll(venv)
		t.Skipf("%s cannot be installed: %v: %s", name, err, text)
	}
	return venv
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
}

// hub is a folder of Hugging Face that holds the tokenizer reprise/bytes: a token is a
// byte, as the server counts.
func hub(t *testing.T, venv string) string {
	t.Helper()
	home := t.TempDir()
	model := filepath.Join(home, "hub", "models--reprise--bytes")
	if err := os.MkdirAll(filepath.Join(model, "refs"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(model, "refs", "main"), []byte("0"), 0o666); err != nil {
		t.Fatal(err)
	}
	command(t, filepath.Join(venv, "bin", "python"), "clients/tokenizer.py", filepath.Join(model, "snapshots", "0"))
	return home
}

// AIPerf runs against the server as it is, and the server has done all of its requests.
func TestAIPerfRunsUnchanged(t *testing.T) {
	venv := tools(t, "aiperf", "aiperf==0.13.0")
	home := hub(t, venv)
	for _, kind := range []string{"chat", "completions"} {
		t.Run(kind, func(t *testing.T) {
			v := prepare(t, smallWith(t, "engine.max_model_len=4096", "engine.num_gpu_blocks=4096"))
			backend := serve.NewBackend(1, v.Stepper)
			server := serve.NewServer(backend, serve.Options{Model: "m", ContextTokens: v.ContextTokens(), OutputTokens: 64})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			closing, end := context.WithCancel(t.Context())
			over := make(chan error)
			go func() {
				ended, err := serve.Listen(l, server, backend, closing, t.Context())
				if err == nil {
					_, err = v.Finish(ended)
				}
				over <- err
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			run := exec.CommandContext(ctx, filepath.Join(venv, "bin", "aiperf"), "profile", "--model", "m",
				"--url", "http://"+l.Addr().String(), "--endpoint-type", kind, "--streaming", "--tokenizer", "reprise/bytes",
				"--concurrency", "4", "--request-count", "12", "--isl", "60", "--osl", "20",
				"--extra-inputs", "ignore_eos:true", "--use-server-token-count", "--ui", "none")
			run.Dir = t.TempDir()
			run.Env = append(os.Environ(), "HF_HOME="+home, "HF_HUB_OFFLINE=1")
			text, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			if !strings.Contains(string(text), "12 valid requests and 0 errors") {
				t.Errorf("want 12 valid requests and 0 errors\n%s", text)
			}
			end()
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

package serve_test

import (
	"cmp"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// listening is a server on a free port. The returned function ends it.
func listening(t *testing.T) (url string, end func()) {
	t.Helper()
	v := prepare(t, smallWith(t, "engine.max_model_len=4096", "engine.num_gpu_blocks=4096"))
	backend := serve.NewBackend(1, v.Stepper)
	server := serve.NewServer(backend, serve.Options{Model: "m", ContextTokens: v.ContextTokens(), OutputTokens: 64})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closing, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() {
		ended, err := serve.Listen(l, server, backend, closing, t.Context())
		if err == nil {
			_, err = v.Finish(ended)
		}
		over <- err
	}()
	return "http://" + l.Addr().String(), func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}

// load runs a load tool, which has to succeed and to say what is wanted.
func load(t *testing.T, home, want, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, name, args...)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "HF_HOME="+home, "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1")
	text, err := run.CombinedOutput()
	if err != nil || !regexp.MustCompile(want).Match(text) {
		t.Errorf("%v; want %s\n%s", err, want, text)
	}
}

// AIPerf runs against the server as it is, and gets all that it asks for.
func TestAIPerfRunsUnchanged(t *testing.T) {
	venv := tools(t, "aiperf", "aiperf==0.13.0")
	home := hub(t, venv)
	for _, kind := range []string{"chat", "completions"} {
		t.Run(kind, func(t *testing.T) {
			url, end := listening(t)
			defer end()
			load(t, home, "12 valid requests and 0 errors", filepath.Join(venv, "bin", "aiperf"), "profile", "--model", "m",
				"--url", url, "--endpoint-type", kind, "--streaming", "--tokenizer", "reprise/bytes",
				"--concurrency", "4", "--request-count", "12", "--isl", "60", "--osl", "20",
				"--extra-inputs", "ignore_eos:true", "--use-server-token-count", "--ui", "none")
		})
	}
}

// vllmBench is "vllm bench serve" without the start of the program vllm, which wants the
// package of that name: what is installed for a CPU has another one.
const vllmBench = "import argparse, vllm.benchmarks.serve as s; p = argparse.ArgumentParser(); s.add_cli_args(p); s.main(p.parse_args())"

// The benchmark of vLLM runs against the server as it is. It needs a whole vLLM: that of
// the end-to-end tests is used.
func TestVLLMBenchRunsUnchanged(t *testing.T) {
	venv := tools(t, "aiperf", "aiperf==0.13.0") // for its tokenizers
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	python := filepath.Join(cmp.Or(os.Getenv("REPRISE_E2E_DIR"), filepath.Join(cache, "reprise", "e2e")), "venv", "bin", "python")
	if exec.Command(python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('vllm') is None)").Run() != nil {
		t.Skip("there is no vLLM: make e2e-install installs one")
	}
	home := hub(t, venv)
	for backend, path := range map[string]string{"openai": "/v1/completions", "openai-chat": "/v1/chat/completions"} {
		t.Run(backend, func(t *testing.T) {
			url, end := listening(t)
			defer end()
			load(t, home, `Successful requests: +8\b`, python, "-c", vllmBench, "--backend", backend, "--base-url", url, "--endpoint", path,
				"--model", "m", "--tokenizer", "reprise/bytes", "--dataset-name", "random",
				"--random-input-len", "60", "--random-output-len", "20", "--num-prompts", "8", "--ignore-eos")
		})
	}
}

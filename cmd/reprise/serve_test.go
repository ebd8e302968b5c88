package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startServe starts a simulated server and returns where it listens.
func startServe(t *testing.T, args ...string) (address string) {
	t.Helper()
	cmd := exec.Command("reprise", append([]string{"serve", "../../examples/serve.yaml", "--listen", "127.0.0.1:0", "--speed", "20"}, args...)...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	serving := regexp.MustCompile(`on (http://\S+) `)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, pipe) }()
			return m[1]
		}
	}
	t.Fatal("the server does not say where it listens")
	return ""
}

// say sends a request and wants an answer.
func say(t *testing.T, url, body string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", resp.StatusCode, err, text)
	}
}

// What clients say in words to a simulated server is recorded with its ids, which the
// server is asked for because it says that it has them, or which come from its
// /tokenize, and can be replayed on the same server token by token.
func TestWordsSaidToASimulatedServerCanBeReplayed(t *testing.T) {
	server := startServe(t, "--tokenizer", "../../tokenize/testdata", "--output-tokens", "20")
	for _, ids := range []string{"auto", "never"} {
		t.Run(ids, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "t.jsonl")
			cmd, address, stderr, ended := startRecorder(t, "--upstream", server, "--out", out, "--return-token-ids", ids)
			say(t, address+"/v1/completions", `{"prompt":"the quick dog","max_tokens":7}`)
			say(t, address+"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"hi there"}]}]}`)
			say(t, address+"/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":" so"},{"role":"user","content":"on"}],"stream":true,"stream_options":{"include_usage":true}}`)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			<-ended
			if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "3 calls (3 with token ids)") {
				t.Fatal(err, stderr)
			}
			var stdout, told strings.Builder
			if code := run([]string{"replay", out, "--target", server, "--tokens", "exact", "--quiet"}, nil, &stdout, &told); code != succeeded {
				t.Error(code, stdout.String(), told.String())
			}
			if !strings.Contains(stdout.String(), "47 forced and 47 verified of 47 planned") {
				t.Error(stdout.String())
			}
		})
	}
}

// Simulated servers, ours and llm-d-inference-sim, do the work of a trace: all calls,
// with the lengths that were recorded. The address of the latter is given by
// REPRISE_LLM_D_SIM, such as http://localhost:8000.
func TestSimulatedServersDoTheWorkOfATrace(t *testing.T) {
	replay := func(t *testing.T, url string) {
		var stdout, told strings.Builder
		args := []string{"replay", "../../examples/agents.jsonl", "--target", url, "--tokens", "length", "--tools", "none", "--quiet"}
		if code := run(args, nil, &stdout, &told); code != succeeded {
			t.Error(code, stdout.String(), told.String())
		}
	}
	t.Run("reprise", func(t *testing.T) { replay(t, startServe(t)) })
	t.Run("llm-d", func(t *testing.T) {
		url := os.Getenv("REPRISE_LLM_D_SIM")
		if url == "" {
			t.Skip("set REPRISE_LLM_D_SIM to the URL of an llm-d-inference-sim")
		}
		replay(t, url)
	})
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is what a program says on stderr, line by line.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startRecorder starts the program and returns where it listens.
func startRecorder(t *testing.T, args ...string) (cmd *exec.Cmd, address string, stderr *said, ended chan struct{}) {
	t.Helper()
	cmd = exec.Command("reprise", append([]string{"record", "--listen", "127.0.0.1:0"}, args...)...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	stderr, ended = &said{}, make(chan struct{})
	found := make(chan string, 1)
	go func() {
		defer close(ended)
		listens := regexp.MustCompile(`recording (http://\S+),`)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			stderr.mu.Lock()
			stderr.text.WriteString(lines.Text() + "\n")
			stderr.mu.Unlock()
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	select {
	case address = <-found:
	case <-ended:
		t.Fatal("the recorder has ended: ", stderr)
	}
	return cmd, address, stderr, ended
}

// echo is a server that answers with token ids, except to prompts "slow", which it lets
// wait.
func echo(t *testing.T) (url string) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if strings.Contains(string(body), "slow") {
			<-release
		}
		fmt.Fprint(w, `{"id":"1","choices":[{"index":0,"text":"ok","finish_reason":"stop","prompt_token_ids":[1,2,3],"token_ids":[4,5]}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`)
	}))
	t.Cleanup(func() {
		close(release)
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// ask sends a completion and reads the whole answer.
func ask(t *testing.T, address, prompt string) {
	t.Helper()
	resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"model":"m","prompt":"`+prompt+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
}

func TestARecordingEndsWithCtrlC(t *testing.T) {
	out := filepath.Join(t.TempDir(), "t.jsonl.zst")
	cmd, address, stderr, ended := startRecorder(t, "--upstream", echo(t), "--out", out)
	ask(t, address, "one")
	ask(t, address, "two")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, stderr)
	}
	if !strings.Contains(stderr.String(), "2 tasks, 2 calls (2 with token ids), 0 tool runs") {
		t.Error(stderr)
	}
	if _, err := os.Stat(out + ".journal"); !os.IsNotExist(err) {
		t.Error("the journal stays: ", err)
	}
	var stdout, complaints strings.Builder
	if code := run([]string{"trace", "validate", out}, nil, &stdout, &complaints); code != succeeded {
		t.Error(code, complaints.String())
	}
}

// kill -9 with a call in flight: all calls whose answers had ended are on the disk.
func TestAKilledRecorderLosesNoCallThatHadEnded(t *testing.T) {
	out := filepath.Join(t.TempDir(), "t.jsonl")
	cmd, address, stderr, ended := startRecorder(t, "--upstream", echo(t), "--out", out)
	const calls = 20
	for i := range calls {
		ask(t, address, fmt.Sprint("call ", i))
	}
	go func() {
		resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"slow"}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	journal := out + ".journal"
	for begun := 0; begun <= calls; {
		text, err := os.ReadFile(journal)
		if err != nil {
			t.Fatal(err)
		}
		begun = strings.Count(string(text), `{"begin":`)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Fatal("there is a trace already: ", err)
	}
	var stdout, told strings.Builder
	if code := run([]string{"record", "--upstream", "http://localhost:1", "--out", out}, nil, &stdout, &told); code != refused || !strings.Contains(told.String(), "record finish") {
		t.Errorf("a new recording over the journal: %d %s", code, told.String())
	}
	told.Reset()
	if code := run([]string{"record", "finish", journal, "--out", out}, nil, &stdout, &told); code != succeeded {
		t.Fatal(code, told.String(), stderr)
	}
	for _, want := range []string{
		fmt.Sprintf("%d tasks, %[1]d calls (%[1]d with token ids)", calls),
		"the recording is incomplete: the recorder was stopped before it could end", "incomplete: 1 call was in flight",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%s\nwant %q", told.String(), want)
		}
	}
}

// A second Ctrl-C does not wait for the call in flight, and says how to go on.
func TestTheSecondCtrlCOfARecordingNamesTheJournal(t *testing.T) {
	out := filepath.Join(t.TempDir(), "t.jsonl")
	cmd, address, stderr, ended := startRecorder(t, "--upstream", echo(t), "--out", out)
	ask(t, address, "one")
	go func() {
		resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"slow"}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	journal := out + ".journal"
	for begun := 0; begun < 2; {
		text, err := os.ReadFile(journal)
		if err != nil {
			t.Fatal(err)
		}
		begun = strings.Count(string(text), `{"begin":`)
	}
	// One signal after the other: two that are pending at once are one.
	for over := false; !over; {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			break
		}
		select {
		case <-ended:
			over = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	<-ended
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != interrupted {
		t.Fatal(err, stderr)
	}
	finish := "record finish " + journal + " --out " + out
	if !strings.Contains(stderr.String(), "reprise "+finish) || strings.Contains(stderr.String(), noFile) {
		t.Error(stderr)
	}
	var stdout, told strings.Builder
	if code := run(strings.Fields(finish), nil, &stdout, &told); code != succeeded || !strings.Contains(told.String(), "1 task, 1 call ") {
		t.Error(code, told.String())
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readyWithin is how long a server may take to answer: nearly all of it is Python
// imports, and a loaded machine needs minutes (spec/vllm-cpu-live.md 3).
const readyWithin = 300 * time.Second

// modelName is the name under which all servers serve their model.
const modelName = "tiny"

// limits of all servers (env/serve.sh), small enough that prompts are chunked and requests preempted.
const (
	maxModelLen = 512
	maxBatched  = 128
	vocabulary  = 1024
	eos         = 2
)

// Server is one running vLLM; it is started by the first test that asks for it and
// lives until the end of the suite.
type Server struct {
	URL    string
	Routes string // folder of route tables
	Passes string // pass log

	kind string // as env/serve.sh names it

	once sync.Once
	err  error
	cmd  *exec.Cmd
	exit chan error
	log  string
}

// The servers; env/serve.sh tells them apart.
var (
	DenseV1 = &Server{kind: "dense"}
	MoEV1   = &Server{kind: "moe"}
	MoEV2   = &Server{kind: "moe-v2"}
)

// start gives the test a running server.
func start(t *testing.T, s *Server) *Server {
	t.Helper()
	s.once.Do(func() { s.err = s.launch() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s
}

func (s *Server) launch() error {
	state := filepath.Join(scratch, s.kind)
	s.Routes, s.Passes, s.log = filepath.Join(state, "routes"), filepath.Join(state, "passes.jsonl"), filepath.Join(state, "log")
	if err := os.MkdirAll(s.Routes, 0o755); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.URL = "http://127.0.0.1:" + strconv.Itoa(port)
	if err := s.spawn(port); err != nil {
		return err
	}
	return s.awaitReady()
}

// spawn starts the process.
func (s *Server) spawn(port int) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command("bash", filepath.Join("env", "serve.sh"), folder, s.kind, strconv.Itoa(port))
	s.cmd.Env = append(os.Environ(),
		"REPRISE_ROUTES_DIR="+s.Routes, "REPRISE_RECORD_ROUTES=1", "REPRISE_PASS_LOG="+s.Passes)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exit = make(chan error, 1)
	go func() { s.exit <- s.cmd.Wait() }()
	return nil
}

func (s *Server) awaitReady() error {
	deadline := time.After(readyWithin)
	for {
		if r, err := http.Get(s.URL + "/health"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.exit:
			s.exit <- err
			return fmt.Errorf("server %s ended at start: %w\n%s", s.kind, err, s.tail())
		case <-deadline:
			return fmt.Errorf("server %s is not ready after %s\n%s", s.kind, readyWithin, s.tail())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *Server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text), 30)
}

// stop ends the server.
func (s *Server) stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	// The group may be gone already; there is nobody left to tell.
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.exit:
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.exit
	}
}

func stopServers() {
	for _, s := range []*Server{DenseV1, MoEV1, MoEV2} {
		s.stop()
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

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

// limits of all servers, small enough that prompts are chunked and requests preempted.
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

	model  string
	blocks int
	env    []string
	args   []string

	once sync.Once
	err  error
	cmd  *exec.Cmd
	exit chan error
	log  string
}

var (
	// DenseV1 has the V1 runner, a dense model and a KV pool for about one long
	// request and a half, so that requests are preempted.
	DenseV1 = &Server{model: "tiny-dense", blocks: 24}
	// MoEV1 has the V1 runner and a model of 4 layers with 16 experts, top 4.
	MoEV1 = &Server{model: "tiny-moe", blocks: 256}
	// MoEV2 has Model Runner V2 in Triton's interpreter, with vLLM's own trace
	// replay and returned routes, and the same model as MoEV1.
	MoEV2 = &Server{model: "tiny-moe", blocks: 256,
		env:  []string{"VLLM_USE_V2_MODEL_RUNNER=1", "TRITON_INTERPRET=1"},
		args: []string{"--enable-trace-replay", "--enable-return-routed-experts"}}
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
	state, err := os.MkdirTemp("", "reprise-e2e-")
	if err != nil {
		return err
	}
	s.Routes, s.Passes, s.log = filepath.Join(state, "routes"), filepath.Join(state, "passes.jsonl"), filepath.Join(state, "log")
	if err := os.Mkdir(s.Routes, 0o755); err != nil {
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

// spawn starts the process as spec/vllm-cpu-live.md 3 has it.
func (s *Server) spawn(port int) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(filepath.Join(folder, "venv", "bin", "python"), append([]string{
		"-m", "vllm.entrypoints.openai.api_server",
		"--model", filepath.Join(folder, "models", s.model), "--served-model-name", modelName,
		"--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--dtype", "float32", "--enforce-eager", "--distributed-executor-backend", "uni",
		"--max-model-len", strconv.Itoa(maxModelLen), "--block-size", "32",
		"--num-gpu-blocks-override", strconv.Itoa(s.blocks),
		"--max-num-batched-tokens", strconv.Itoa(maxBatched), "--max-num-seqs", "8",
		"--enable-prompt-tokens-details", "--enable-per-request-metrics", "--enable-scale-out",
	}, s.args...)...)
	s.cmd.Env = append(os.Environ(), append([]string{
		"HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "TORCHDYNAMO_DISABLE=1",
		"VLLM_CPU_KVCACHE_SPACE=1", "OMP_NUM_THREADS=1", "VLLM_ENABLE_V1_MULTIPROCESSING=0",
		"VLLM_PLUGINS=reprise,reprise_status",
		"REPRISE_ROUTES_DIR=" + s.Routes, "REPRISE_RECORD_ROUTES=1", "REPRISE_PASS_LOG=" + s.Passes,
	}, s.env...)...)
	if len(s.env) > 0 {
		// Only V2 servers may see the stand-in Triton backend (env/install.sh).
		s.cmd.Env = append(s.cmd.Env, "PYTHONPATH="+filepath.Join(folder, "interp"))
	}
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
			return fmt.Errorf("server of %s ended at start: %w\n%s", s.model, err, s.tail())
		case <-deadline:
			return fmt.Errorf("server of %s is not ready after %s\n%s", s.model, readyWithin, s.tail())
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

// stop ends the server and removes what it left.
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
	os.RemoveAll(filepath.Dir(s.log))
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

//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorder is a running `reprise record`; to a client it is a server.
type recorder struct {
	Server
	out string
}

func startRecorder(t *testing.T, upstream *Server) *recorder {
	t.Helper()
	at, err := program()
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{out: filepath.Join(t.TempDir(), "t.jsonl")}
	listen := "127.0.0.1:" + strconv.Itoa(port)
	r.URL = "http://" + listen
	r.cmd = exec.Command(at, "record", "--upstream", upstream.URL, "--listen", listen, "--out", r.out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() }) // it may have ended
	for range 100 {
		if resp, err := http.Get(r.URL + "/reprise/v1/status"); err == nil {
			resp.Body.Close()
			return r
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the recorder does not answer")
	return nil
}

// end stops the recorder by a signal and waits until it is gone.
func (r *recorder) end(t *testing.T, how syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(how); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil && how != syscall.SIGKILL {
		t.Fatal(err)
	}
}

// agentTurns has two sessions ask turn after turn, each prompt what was before and
// something new. It returns what the server said.
func agentTurns(t *testing.T, r *recorder, turns int, stream bool) map[string][]int {
	t.Helper()
	said := make([]map[string][]int, 2)
	each(t, len(said), len(said), func(k int) error {
		said[k] = map[string][]int{}
		d := seeded(uint64(9000 + k))
		prompt := d.ids(40)
		for turn := range turns {
			path := fmt.Sprintf("/s/s%d%s", k, completions)
			a, err := r.must(path, fields{"prompt": prompt, "max_tokens": 10, "temperature": 0.9, "ignore_eos": true, "stream": stream})
			if err != nil {
				return err
			}
			said[k][fmt.Sprintf("s%d/%d", k, turn)] = a.ids
			prompt = slices.Concat(prompt, a.ids, d.ids(12))
		}
		return nil
	})
	all := said[0]
	for name, ids := range said[1] {
		all[name] = ids
	}
	return all
}

// A recorder that is killed in the middle leaves every call that had ended.
func TestAKilledRecorderLosesNoCallThatHadEnded(t *testing.T) {
	s := start(t, DenseV1)
	r := startRecorder(t, s)
	said := agentTurns(t, r, 3, true)
	open := make(chan error, 1)
	go func() {
		_, err := r.post("/s/s9"+completions, fields{"prompt": seeded(1).ids(20), "max_tokens": 400, "ignore_eos": true, "stream": true})
		open <- err
	}()
	time.Sleep(500 * time.Millisecond) // it is in flight
	r.end(t, syscall.SIGKILL)
	if err := <-open; err == nil {
		t.Fatal("the last call had ended: nothing was interrupted")
	}
	made := must(t, "record", "finish", r.out+".journal", "--out", r.out)
	if !strings.Contains(made.stderr, "6 calls (6 with token ids)") || !strings.Contains(made.stderr, "incomplete") {
		t.Errorf("the trace is made of\n%s", made.stderr)
	}
	checkSaid(t, replayOf(t, r.out, s), said)
}

// replayOf replays a recording and wants it to be exact.
func replayOf(t *testing.T, path string, s *Server, flags ...string) replayed {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	must(t, append([]string{"replay", path, "--target", s.URL, "--tokens", "exact", "--out", out, "-q"}, flags...)...)
	return readRun(t, out)
}

// checkSaid wants the outputs that clients of the recorder saw.
func checkSaid(t *testing.T, r replayed, said map[string][]int) {
	t.Helper()
	got, want := outputs(r), make([]string, 0, len(said))
	for _, ids := range said {
		want = append(want, fmt.Sprint(ids))
	}
	slices.Sort(want)
	if !r.Faithful || !slices.Equal(got, want) {
		t.Errorf("faithful %v, outputs\n%v\nthe clients saw\n%v", r.Faithful, got, want)
	}
}

// outputs are the ids of all calls, whatever the recorder named them.
func outputs(r replayed) []string {
	var all []string
	for _, call := range r.calls {
		all = append(all, fmt.Sprint(call.IDs))
	}
	slices.Sort(all)
	return all
}

// Experts that a server returned while it was recorded serve every token again.
func TestRecordedExpertsAreForced(t *testing.T) {
	s := start(t, MoEV2)
	r := startRecorder(t, s)
	said := agentTurns(t, r, 2, false) // streams of completions carry no experts
	r.end(t, syscall.SIGINT)
	run := replayOf(t, r.out, s, "--experts", "exact", "--routes-dir", s.Routes)
	checkSaid(t, run, said)
	f := run.Fidelity
	if f.PlannedExperts == 0 || f.ForcedExperts != f.PlannedExperts || f.VerifiedExperts != f.ForcedExperts {
		t.Errorf("experts: %+v", f)
	}
}

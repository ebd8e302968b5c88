//go:build e2e

package e2e

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The walk of docs/live.md works as it stands, and shows what it says: a replay is the
// recorded work, lengths alone are not, and the simulation finds the same cached tokens.
func TestTheWalkFromAnAgentToASimulation(t *testing.T) {
	dir := walk(t, start(t, DenseV1))
	seen := readCalls(t, filepath.Join(dir, "agents.jsonl.zst.calls.jsonl"))
	if len(seen) != 12 {
		t.Fatalf("%d calls were recorded, want 12", len(seen))
	}
	first := readRun(t, filepath.Join(dir, "forced", "repetition-1"))
	for i := 1; i <= 5; i++ {
		r := readRun(t, filepath.Join(dir, "forced", "repetition-"+strconv.Itoa(i)))
		if !r.Faithful || r.Fidelity.VerifiedTokens != r.Fidelity.PlannedTokens || !reflect.DeepEqual(r.calls, first.calls) {
			t.Errorf("repetition %d: faithful %v, %+v", i, r.Faithful, r.Fidelity)
		}
		if got := cachedOf(r); !reflect.DeepEqual(got, seen) {
			t.Errorf("repetition %d: cached tokens %v, recorded were %v", i, got, seen)
		}
	}
	if reflect.DeepEqual(readRun(t, filepath.Join(dir, "lengths")).calls, first.calls) {
		t.Error("by lengths the server wrote what was recorded: the test sees nothing")
	}
	if got := simulated(t, filepath.Join(dir, "simulated", "per_request.csv")); !reflect.DeepEqual(got, seen) {
		t.Errorf("simulated cached tokens %v, recorded were %v", got, seen)
	}
}

// walk runs the commands of the page beside links to what they read, and returns the
// folder.
func walk(t *testing.T, s *Server) string {
	t.Helper()
	at, err := program()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"examples", "integrations"} {
		target, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("http://localhost:8000", s.URL,
		"localhost:8080", "127.0.0.1:"+strconv.Itoa(port), "127.0.0.1:8080", "127.0.0.1:"+strconv.Itoa(port)).
		Replace("set -euo pipefail\n" + commandsOf(string(page)))
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(at)+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return dir
}

// commandsOf joins the blocks of a page that are to be run.
func commandsOf(page string) string {
	var commands strings.Builder
	for _, part := range strings.Split(page, "\n```bash\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		commands.WriteString(block + "\n")
	}
	return commands.String()
}

// readCalls reads what a recorder saw: the cached tokens of each call.
func readCalls(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cached := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var call struct {
			Node   string `json:"node"`
			Cached int    `json:"cached_tokens"`
			IDs    string `json:"output_ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			t.Fatal(err)
		}
		if call.Node == "" {
			continue // the header
		}
		if call.IDs != "server" {
			t.Errorf("call %s: ids from %q, want those of the server", call.Node, call.IDs)
		}
		cached[call.Node] = call.Cached
	}
	return cached
}

func cachedOf(r replayed) map[string]int {
	cached := map[string]int{}
	for name, call := range r.calls {
		cached[name] = call.Cached
	}
	return cached
}

// simulated reads the cached tokens of a table of requests.
func simulated(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	cached := map[string]int{}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[column["cached_tokens"]])
		if err != nil {
			t.Fatal(err)
		}
		cached[row[column["request_id"]]] = n
	}
	return cached
}

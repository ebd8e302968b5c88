package record_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The helper for Python says what the marks say by hand.
func TestThePythonHelperMarksWhatAnAgentDoes(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	s := start(t, &upstream{answer: "hi", describes: true})
	const agent = `
import json, sys, urllib.request
from reprise_agent import Agent

def call(agent, name, after=()):
    body = {"model": "m", "messages": [{"role": "user", "content": name}]}
    urllib.request.urlopen(urllib.request.Request(agent.base_url + "/v1/chat/completions", json.dumps(body).encode(),
        agent.headers(name, after) | {"Content-Type": "application/json"})).read()

main = Agent(sys.argv[1] + "/", "main", task="job")
call(main, "plan")
with main.tool("grep", tool="g", after=["plan"], args={"q": "x"}) as run:
    run.result = "found"
helper = main.spawn("helper", after=["plan"])
call(helper, "help")
main.join(run.id, "helper")
call(main, "sum")
Agent("http://127.0.0.1:9", "x", timeout=1).join("nobody records")
try:
    main.join()
    sys.exit("an empty join is taken")
except ValueError as e:
    assert "of is missing" in str(e), e
`
	cmd := exec.Command(python, "-c", agent, s.url)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH=../integrations/agent", "PYTHONDONTWRITEBYTECODE=1", "no_proxy=127.0.0.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tasks, result, _ := s.finish()
	if len(tasks) != 1 || len(result.Notes) > 0 {
		t.Fatalf("%d tasks, %q", len(tasks), result.Notes)
	}
	var story []string
	for _, n := range tasks[0].Nodes {
		var after []string
		for _, e := range n.After {
			after = append(after, tasks[0].Nodes[e.From].ID)
		}
		story = append(story, n.ID+"<"+strings.Join(after, ","))
	}
	if want := []string{"plan<", "g<plan", "help<plan", "sum<g,help"}; !slices.Equal(story, want) {
		t.Errorf("%q, want %q", story, want)
	}
}

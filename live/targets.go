package live

import (
	"fmt"
	"net/http"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
)

// target is a server, as its client sees it.
type target struct {
	url     string
	about   *probe.Capabilities
	running int
	prefill int // prompt tokens of calls without a first token
}

// targets are all servers and who chooses among them. What a router may ask of an
// instance that only the server knows (its blocks, its caches) is not known here.
type targets struct {
	list      []*target
	placement routing.Placement
	prompt    *token.Seq // of the call that is being placed
	keys      []token.Key
}

// unseen is what nobody outside a server knows of it.
const unseen = routing.Prefixes | routing.Probes | routing.Prices

// newTargets are servers that no call has been sent to.
func newTargets(about []*probe.Capabilities, s routing.Settings, seed uint64) *targets {
	t := &targets{placement: routing.New(s, seed)}
	for i, a := range about {
		t.list = append(t.list, &target{url: a.URL, about: a})
		t.placement.Topology(routing.Change{State: routing.Ready, Worker: int32(i), Targets: []int32{int32(i)}}, 0, nil)
	}
	t.placement.Settled(0, nil)
	return t
}

// place chooses where a call goes.
func (t *targets) place(row int32, task *trace.Task, n *trace.Node, nowMs float64) (int32, error) {
	t.prompt, t.keys = n.Input, nil
	c, queued, err := t.placement.Place(&routing.Request{
		Row: row, InputTokens: n.InputTokens, Session: sessionOf(task, n), Prompt: n.Input, Rank: -1,
	}, t, nowMs)
	if err == nil && queued {
		err = fmt.Errorf("the router keeps call %s: want one that places calls at once", n.ID)
	}
	if err != nil {
		return 0, err
	}
	t.list[c.Target].running++
	t.list[c.Target].prefill += int(n.InputTokens)
	return c.Target, nil
}

// first notes that a call has got its first token.
func (t *targets) first(at int32, n *trace.Node) { t.list[at].prefill -= int(n.InputTokens) }

// end notes that a call has ended.
func (t *targets) end(row, at int32, nowMs float64) {
	t.list[at].running--
	t.placement.Tell(routing.Notice{Kind: engine.Finished, Row: row, Target: at}, nowMs, nil)
}

// sessionOf is the conversation of a call; by default its task is one.
func sessionOf(t *trace.Task, n *trace.Node) string {
	if n.Session == "" {
		return t.ID
	}
	return n.Session
}

// Len implements [routing.View], as do the others.
func (t *targets) Len() int { return len(t.list) }

func (t *targets) Draining(int) bool { return false }

func (t *targets) Load(i int) engine.Load {
	return engine.Load{Running: t.list[i].running, PrefillTokens: t.list[i].prefill}
}

// BlockSize is vLLM's on GPUs. It only cuts prompts into what owners are chosen by.
func (t *targets) BlockSize() int { return 16 }

func (t *targets) Keys(most int) []token.Key {
	if t.keys == nil && t.prompt != nil {
		t.keys = t.prompt.FirstKeys(nil, t.BlockSize(), most)
	}
	return t.keys[:min(most, len(t.keys))]
}

func (t *targets) Prefix() []int32                 { return make([]int32, len(t.list)) }
func (t *targets) Predicted() int32                { return 0 }
func (t *targets) Resident(int, *token.Seq) int    { return 0 }
func (t *targets) PrefillMs(int64) (float64, bool) { return 0, false }
func (t *targets) Remote() bool                    { return false }
func (t *targets) RemoteMs(int32) float64          { return 0 }

// header is what every request to the servers carries.
func header(extra http.Header, key string) http.Header {
	h := http.Header{"Accept": {"text/event-stream, application/json"}, "User-Agent": {"reprise"}}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	for name, values := range extra {
		h[name] = values
	}
	return h
}

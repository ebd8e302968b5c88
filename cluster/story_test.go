package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// TestStories plays the scenarios in testdata, written in this language. A story is
// about one instance that is looked at, or about a cluster of them that is told what
// happens.
func TestStories(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", language, func() *story { return &story{} })
}

// story is instances with the rows of their requests, which go by their names.
type story struct {
	ledger    metrics.Ledger
	instances []*Instance
	cluster   *Cluster
	placement routing.Placement
	names     []string
}

// language is what can be told.
var language = scenario.Language[*story]{
	// An idle instance: 64 blocks of 4 tokens, 64 tokens and 4 requests a pass, 10 ms
	// for a prefill and 2 for a decode, the rules of the reference simulator (set-up F of
	// spec/replay.md 10), changed by blocks=, budget=, seqs=, chunking=off,
	// caching=off, prefill=, decode=, host_us=; rules=vllm (synchronous
	// unless async=on; policy=priority).
	//
	//	instance decode=1
	//	----
	//	looked at next: never
	"instance": (*story).instance,

	// So many of them behind a placement: round_robin, or one of the doubles in
	// placement_test.go.
	//
	//	cluster instances=2 placement=round_robin
	//	----
	//	to be settled next: never
	"cluster": (*story).begin,

	// Requests handed to the instance, one a line: a name, prompt and output length, and
	// when it arrives, which may lie ahead; priority=N besides.
	//
	//	submit
	//	A 8/2 at=0
	//	----
	//	looked at next: 0
	"submit": (*story).submit,

	// A look at the instance: it is advanced to that instant.
	//
	//	look at=5
	//	----
	//	at 5: 1 running, 0 waiting; passes: 1 decided, 0 complete
	//	looked at next: 10
	"look": (*story).look,

	// The decisions of that instant.
	//
	//	start at=5
	"start": (*story).start,

	// The instance at the end of that instant, passes that take no time included.
	//
	//	sample at=5
	//	----
	//	at 5: queue 0, running 1, 2 of 64 blocks, busy 1
	"sample": (*story).sample,

	// The client of a request goes away.
	//
	//	cancel A at=5
	"cancel": (*story).cancel,

	// The run ends, and with it all open requests.
	//
	//	abandon at=5
	"abandon": (*story).abandon,

	// When the passes decided so far end.
	//
	//	passes
	//	----
	//	10 12 14
	"passes": (*story).passes,

	// Requests offered to the cluster, one a line as above, each at its arrival.
	//
	//	place
	//	A 8/2 at=0
	//	----
	//	A: instance 0
	"place": (*story).place,

	// One instant of a cluster: what ends, ends; decisions are made. Again until the
	// cluster has nothing more to do then.
	//
	//	instant at=12
	//	----
	//	A: completed at 12, tokens: 2
	//	to be settled next: 14
	"instant": (*story).instant,

	// Everything from here on, for an instance or a cluster.
	//
	//	run
	//	----
	//	A: completed at 14, tokens: 3
	//	at 14 nothing is left to do
	"run": (*story).run,

	// What the placement called gossip has been told.
	//
	//	told
	//	----
	//	at 0: A admitted
	"told": (*story).told,

	// What became of the requests.
	//
	//	rows
	//	----
	//	request  status     instance  submit  admit  first  second  last  end  tokens  reason
	//	A        completed  0         0       0      10     12      12    12   2 of 2  -
	"rows": (*story).rows,
}

func (s *story) instance(t *testing.T, td *datadriven.TestData) string {
	*s = story{}
	s.ledger.KeepTokens = true
	s.instances = []*Instance{NewInstance(0, 0, s.equipment(t, td))}
	return s.next()
}

func (s *story) begin(t *testing.T, td *datadriven.TestData) string {
	*s = story{}
	n, name := 1, "round_robin"
	td.MaybeScanArgs(t, "instances", &n)
	td.MaybeScanArgs(t, "placement", &name)
	for i := range n {
		s.instances = append(s.instances, NewInstance(0, int32(i), s.equipment(t, td)))
	}
	if name == "round_robin" {
		s.placement = routing.New(routing.Defaults(), 42)
	} else if double, known := doubles[name]; known {
		s.placement = double()
	} else {
		td.Fatalf(t, "unknown placement %q", name)
	}
	s.cluster = New(s.instances, s.placement)
	return s.next()
}

// equipment is that of one instance.
func (s *story) equipment(t *testing.T, td *datadriven.TestData) Equipment {
	settings := engine.Defaults()
	settings.Rules, settings.NumGPUBlocks, settings.BlockSize, settings.MaxNumSeqs, settings.MaxNumBatchedTokens = "aisimulate", 64, 4, 4, 64
	td.MaybeScanArgs(t, "rules", &settings.Rules)
	td.MaybeScanArgs(t, "blocks", &settings.NumGPUBlocks)
	td.MaybeScanArgs(t, "budget", &settings.MaxNumBatchedTokens)
	td.MaybeScanArgs(t, "seqs", &settings.MaxNumSeqs)
	settings.EnableChunkedPrefill, settings.EnablePrefixCaching = !is(td, "chunking", "off"), !is(td, "caching", "off")
	settings.VLLM.AsyncScheduling = settings.Rules == "aisimulate" || is(td, "async", "on")
	td.MaybeScanArgs(t, "policy", &settings.VLLM.Policy)
	if err := paged.Resolve(&settings); err != nil {
		td.Fatalf(t, "%v", err)
	}
	model := latency.Fixed{PrefillMs: 10, DecodeMs: 2}
	td.MaybeScanArgs(t, "prefill", &model.PrefillMs)
	td.MaybeScanArgs(t, "decode", &model.DecodeMs)
	hostUs := 0.0
	td.MaybeScanArgs(t, "host_us", &hostUs)
	return Equipment{Rank: paged.New(&settings), Model: model, HostMs: hostUs / 1000, Ledger: &s.ledger}
}

func is(td *datadriven.TestData, key, value string) bool {
	arg, ok := td.Arg(key)
	return ok && arg.Vals[0] == value
}

// arrival is one line of submit or place.
type arrival struct {
	request engine.Request
	atMs    float64
}

// arrivals opens the rows of the requests in the lines of a command.
func (s *story) arrivals(t *testing.T, td *datadriven.TestData) []arrival {
	var list []arrival
	for _, text := range strings.Split(td.Input, "\n") {
		var a arrival
		r := &a.request
		n, _ := fmt.Sscanf(text, "%s %d/%d at=%g priority=%d", &r.ID, &r.InputTokens, &r.MaxTokens, &a.atMs, &r.Priority)
		if n < 4 {
			td.Fatalf(t, "%q: want a name, IN/OUT, at=MS, and perhaps priority=N", text)
		}
		r.Row = s.ledger.Open(metrics.Label{Request: r.ID}, a.atMs, r.InputTokens, r.MaxTokens)
		r.Arrival = float64(r.Row)
		s.names = append(s.names, r.ID)
		list = append(list, a)
	}
	return list
}

func (s *story) submit(t *testing.T, td *datadriven.TestData) string {
	for _, a := range s.arrivals(t, td) {
		s.instances[0].Submit(&a.request, a.atMs)
	}
	return s.ended() + s.next()
}

// at is the instant of a command.
func at(t *testing.T, td *datadriven.TestData) (ms float64) {
	td.ScanArgs(t, "at", &ms)
	return ms
}

func (s *story) look(t *testing.T, td *datadriven.TestData) string {
	ms := at(t, td)
	err := s.instances[0].AdvanceTo(ms)
	return s.picture(ms, err)
}

func (s *story) start(t *testing.T, td *datadriven.TestData) string {
	ms := at(t, td)
	err := s.instances[0].Start(ms)
	return s.picture(ms, err)
}

func (s *story) sample(t *testing.T, td *datadriven.TestData) string {
	got, err := s.instances[0].Sample(at(t, td))
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("at %v: queue %d, running %d, %d of %d blocks, busy %v",
		got.TimeMs, got.Queue, got.Running, got.KVUsed, got.KVTotal, got.BusyFraction)
}

func (s *story) cancel(t *testing.T, td *datadriven.TestData) string {
	ms, row := at(t, td), slices.Index(s.names, td.CmdArgs[0].Key)
	if err := s.instances[0].AdvanceTo(ms); err != nil {
		return "error: " + err.Error()
	}
	if !s.instances[0].Cancel(int32(row), metrics.Cancelled, metrics.ClientCancelled, ms) {
		return "the instance does not have it"
	}
	return s.picture(ms, nil)
}

func (s *story) abandon(t *testing.T, td *datadriven.TestData) string {
	for _, in := range s.instances {
		in.Abandon(metrics.Unfinished, metrics.TimeCap, at(t, td))
	}
	return s.ended()
}

func (s *story) passes(*testing.T, *datadriven.TestData) string {
	var ends []string
	for i := range s.instances[0].log.Len() {
		ends = append(ends, fmt.Sprint(s.instances[0].log.End(i)))
	}
	return strings.Join(ends, " ")
}

func (s *story) place(t *testing.T, td *datadriven.TestData) string {
	var answers []string
	for _, a := range s.arrivals(t, td) {
		r := routing.Request{Row: a.request.Row, InputTokens: a.request.InputTokens, Rank: -1}
		err := s.cluster.Place(&r, &a.request, a.atMs)
		row := s.ledger.Row(a.request.Row)
		switch {
		case err != nil:
			answers = append(answers, fmt.Sprintf("%s: error: %v", a.request.ID, err))
		case row.Instance < 0:
			answers = append(answers, a.request.ID+": kept by the placement")
		default:
			answers = append(answers, fmt.Sprintf("%s: instance %d", a.request.ID, row.Instance))
		}
	}
	return strings.Join(answers, "\n")
}

func (s *story) instant(t *testing.T, td *datadriven.TestData) string {
	ended, err := s.settle(at(t, td))
	if err != nil {
		return "error: " + err.Error()
	}
	return ended + s.next()
}

// settle repeats an instant of the cluster until nothing changes.
func (s *story) settle(ms float64) (string, error) {
	var ended strings.Builder
	for {
		if err := s.cluster.Settle(ms, func(e Ended) { ended.WriteString(s.end(e)) }); err != nil {
			return "", err
		}
		if err := s.cluster.Start(ms); err != nil {
			return "", err
		}
		if s.cluster.NextMs() > ms {
			return ended.String(), nil
		}
	}
}

func (s *story) run(t *testing.T, td *datadriven.TestData) string {
	now := math.Inf(-1)
	var ended strings.Builder
	for {
		next := s.instances[0].NextMs()
		if s.cluster != nil {
			next = s.cluster.NextMs()
		}
		if math.IsInf(next, 1) {
			return fmt.Sprintf("%sat %v nothing is left to do", ended.String(), now)
		}
		now = next
		if s.cluster == nil {
			if err := s.instances[0].Finish(now); err != nil {
				return "error: " + err.Error()
			}
			ended.WriteString(s.ended())
			continue
		}
		more, err := s.settle(now)
		if err != nil {
			return "error: " + err.Error()
		}
		ended.WriteString(more)
	}
}

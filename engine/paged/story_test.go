package paged_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/internal/scenario"
)

// TestStories plays the scenarios in testdata, written in this language. Some of
// them are vectors of spec/engine.md 15 and carry their ids.
func TestStories(t *testing.T) {
	scenario.Play(t, "testdata/*.txt", language, func() *story { return &story{} })
}

// story is a rank and what has been done with it. Requests go by their names.
type story struct {
	settings engine.Settings
	async    bool // of vllm ranks
	cadence  int  // prefills may start in every n-th step; 0: no cadence
	rank     *paged.Rank
	names    []string // by row
	told     []line   // what was submitted, for again
	inbox    []line   // to be submitted by run, in order of time
	flight   int      // passes decided and not complete
	idle     bool     // the last step decided nothing
	clockMs  float64  // end of the last run
	fx       engine.Effects
}

// language is what can be told.
var language = scenario.Language[*story]{
	// A rank without requests. Settings go by short names (settingNames); what is
	// not named stands at its default, but vllm ranks are synchronous unless
	// async=on. Answers with what the rank has, or with what is wrong.
	//
	//	rank rules=vllm blocks=6 block_size=4 budget=12 seqs=3 caching=off
	//	----
	//	vllm-0.32: 5 blocks, block size 4; a pass has 12 tokens of 3 requests
	"rank": (*story).begin,

	// The same with some settings changed: a fresh rank gets all requests that the
	// last one was given. A change of rules forgets the settings that one rule set
	// alone knows.
	//
	//	again rules=aisimulate
	//	----
	//	aisimulate-0.13: 6 blocks, block size 4; a pass has 12 tokens of 3 requests
	//	A waits
	"again": (*story).again,

	// The settings that a rank has if nothing is said.
	//
	//	defaults rules=aisimulate
	//	----
	//	backend vllm, rules aisimulate-0.13
	//	blocks 16384, block_size 64, seqs 256, budget 8192
	//	caching true, chunking true, preemption lifo
	"defaults": (*story).defaults,

	// Requests, one a line: a name, the prompt (parseTokens), out=N tokens to
	// generate; priority=N; output=TOKENS if somebody may look those up; at=MS if run
	// has to submit it then. The front end may refuse.
	//
	//	submit
	//	A 0..8 out=2
	//	B 100..140 out=1
	//	----
	//	A waits
	//	B is refused: needs_blocks: 10 of 6
	"submit": (*story).submit,

	// Decides the next pass, and completes the oldest one if as many as the rank may
	// decide ahead are in flight (or nothing was decided). n=3 does so three times.
	// step=N numbers the step for the cadence.
	//
	// A share reads "tokens before + new tokens", with * if a token comes out. Prices
	// read: prefill requests/new tokens/tokens before them; decode requests/tokens
	// that they attend to.
	//
	//	pass
	//	----
	//	pass 0: A 0+8*, B 0+4
	//	  A admitted, 0 cached
	//	  B admitted, 0 cached
	//	  prefill 2/12/0
	//	  A gets its first token
	//	2 running, 0 waiting; blocks: 3 used, 0 cached, 3 free
	"pass": (*story).pass,

	// Decides the next pass only.
	"schedule": (*story).schedule,

	// Completes the oldest pass; n=3: the three oldest.
	//
	//	complete
	//	----
	//	  A gets its first token
	//	2 running, 0 waiting; blocks: 3 used, 0 cached, 3 free
	"complete": (*story).complete,

	// Describes the next passes if they are nothing but decodes of the same requests.
	//
	//	stretch limit=40
	//	----
	//	6 passes: decode 2/18, +2 a pass; the last one ends requests
	"stretch": (*story).stretch,

	// Decides passes of the stretch just described.
	//
	//	skip n=6
	//	----
	//	6 passes in flight
	//	2 running, 0 waiting; blocks: 6 used, 0 cached, 0 free
	"skip": (*story).skip,

	// Removes a request wherever it is.
	//
	//	cancel B
	//	----
	//	  B got 2 tokens in passes 1 to 2
	//	1 running, 0 waiting; blocks: 2 used, 0 cached, 4 free
	"cancel": (*story).cancel,

	// The run ends: what the running requests have got, those of passes in flight
	// included. Nothing may be asked of the rank afterwards.
	//
	//	abandon
	//	----
	//	  A got 2 tokens in passes 0 to 1
	"abandon": (*story).abandon,

	// How much of a prompt the pool holds.
	//
	//	resident 0..9
	//	----
	//	8 of 9 tokens
	"resident": (*story).resident,

	// What else the rank tells: whether a request that comes now would change nothing
	// (quiet), prompt tokens to be computed, the pass of the next end that is decided,
	// and, if the last step decided nothing, who waits for ever.
	//
	//	ask
	//	----
	//	quiet: false; prefill tokens: 8; next end: pass 7
	"ask": (*story).ask,

	// Runs on a clock until nothing happens any more, one line a pass: what came out
	// of it (* is a last token, A* alone may be an end without one), what happened
	// when it was decided (cached tokens in brackets), blocks used/cached when it was
	// complete, and prices as above. passes=N stops after N of them.
	//
	//	run model=fixed:10,2
	//	----
	//	pass  start  end  tokens  decided      blocks  prefill  decode
	//	0     0      10   A       admits A(0)  2/0     1/8/0    -
	//	1     10     12   A*                   0/2     -        1/9
	"run": (*story).run,
}

func (s *story) begin(t *testing.T, td *datadriven.TestData) string {
	*s = story{settings: engine.Defaults()}
	return s.build(t, td)
}

func (s *story) again(t *testing.T, td *datadriven.TestData) string {
	told := s.told
	*s = story{settings: s.settings, async: s.async, cadence: s.cadence}
	if td.HasArg("rules") { // each rule set refuses the settings of the other
		s.settings.VLLM, s.settings.AISimulate = engine.Defaults().VLLM, engine.Defaults().AISimulate
	}
	answers := []string{s.build(t, td)}
	for _, l := range told {
		answers = append(answers, s.hand(l))
	}
	return strings.Join(answers, "\n")
}

// build makes the rank that the arguments change the settings to.
func (s *story) build(t *testing.T, td *datadriven.TestData) string {
	for _, arg := range td.CmdArgs {
		set, known := settingNames[arg.Key]
		if !known {
			td.Fatalf(t, "unknown setting %q", arg.Key)
		}
		set(s, t, arg)
	}
	r := s.settings
	r.VLLM.AsyncScheduling = s.async || r.Rules == "aisimulate" // its default, where it says nothing
	if err := paged.Resolve(&r); err != nil {
		return "refused: " + strings.ReplaceAll(err.Error(), "\n", "\nrefused: ")
	}
	if s.cadence > 0 { // ranks that step together are not built: the story counts the steps
		r.PrefillScheduleInterval = s.cadence
	}
	s.rank = paged.New(&r)
	answer := fmt.Sprintf("%s: %d blocks, block size %d; a pass has %d tokens of %d requests",
		r.Rules, s.rank.Load().BlocksTotal, r.BlockSize, r.MaxNumBatchedTokens, r.MaxNumSeqs)
	if d := s.rank.Depth(); d > 1 {
		answer += fmt.Sprintf("; %d are decided before the first is complete", d)
	}
	return answer
}

func (s *story) defaults(t *testing.T, td *datadriven.TestData) string {
	r := engine.Defaults()
	td.ScanArgs(t, "rules", &r.Rules)
	if err := engine.Resolve(&r); err != nil {
		return err.Error()
	}
	return tellSettings(&r)
}

func (s *story) submit(t *testing.T, td *datadriven.TestData) string {
	var answers []string
	for _, text := range strings.Split(td.Input, "\n") {
		l, err := parseLine(text)
		if err != nil {
			td.Fatalf(t, "%v", err)
		}
		answers = append(answers, s.hand(l))
	}
	return strings.Join(answers, "\n")
}

// hand submits a request, now or when run comes to its time.
func (s *story) hand(l line) string {
	s.told = append(s.told, l)
	l.request.Row, l.request.Arrival = int32(len(s.names)), float64(len(s.names))
	s.names = append(s.names, l.request.ID)
	if reason := s.rank.Refuse(&l.request); reason != "" {
		return fmt.Sprintf("%s is refused: %s", l.request.ID, reason)
	}
	if l.atMs > s.clockMs {
		s.inbox = append(s.inbox, l)
		return fmt.Sprintf("%s comes at %v ms", l.request.ID, l.atMs)
	}
	s.rank.Submit(&l.request)
	return l.request.ID + " waits"
}

func (s *story) pass(t *testing.T, td *datadriven.TestData) string {
	n, step := 1, 0
	td.MaybeScanArgs(t, "n", &n)
	td.MaybeScanArgs(t, "step", &step)
	var b strings.Builder
	for range n {
		decided, what := s.decide(step)
		b.WriteString(what)
		if s.flight == s.rank.Depth() || !decided && s.flight > 0 {
			s.fx.Events = s.fx.Events[:0]
			s.rank.Complete(1, &s.fx)
			s.flight--
			b.WriteString(s.events())
		}
		b.WriteString(s.state() + "\n")
	}
	return b.String()
}

func (s *story) schedule(t *testing.T, td *datadriven.TestData) string {
	step := 0
	td.MaybeScanArgs(t, "step", &step)
	_, what := s.decide(step)
	return what + s.state()
}

// decide decides a pass and tells it.
func (s *story) decide(step int) (decided bool, what string) {
	p := engine.Pass{Throttled: s.cadence > 0 && step%s.cadence != 0}
	s.fx.Events = s.fx.Events[:0]
	d := s.rank.Schedule(&p, &s.fx)
	if s.idle = d != engine.Decided; s.idle {
		return false, "nothing to compute\n" + s.events()
	}
	s.flight++
	var shares []string
	for _, sh := range s.rank.Shares(nil) {
		shares = append(shares, s.share(sh))
	}
	if shares == nil {
		shares = []string{"nobody"}
	}
	return true, fmt.Sprintf("pass %d: %s\n%s  %s\n", p.Index, strings.Join(shares, ", "), s.events(), prices(&p.Cost))
}

func (s *story) complete(t *testing.T, td *datadriven.TestData) string {
	n := 1
	td.MaybeScanArgs(t, "n", &n)
	if n > s.flight {
		td.Fatalf(t, "%d passes are in flight", s.flight)
	}
	s.fx.Events = s.fx.Events[:0]
	s.rank.Complete(n, &s.fx)
	s.flight -= n
	return s.events() + s.state()
}

func (s *story) stretch(t *testing.T, td *datadriven.TestData) string {
	var limit int
	td.ScanArgs(t, "limit", &limit)
	var st engine.Stretch
	if !s.rank.Stretch(limit, &st) {
		return "the next pass has to be decided by itself"
	}
	c := &st.First
	answer := fmt.Sprintf("%s: decode %s, +%d a pass", passes(st.Passes), decode(c), c.DecodeNew)
	if st.Ends {
		answer += "; the last one ends requests"
	}
	return answer
}

func (s *story) skip(t *testing.T, td *datadriven.TestData) string {
	var n int
	td.ScanArgs(t, "n", &n)
	s.rank.Skip(n)
	s.flight += n
	return fmt.Sprintf("%s in flight\n%s", passes(s.flight), s.state())
}

func (s *story) cancel(t *testing.T, td *datadriven.TestData) string {
	s.fx.Events = s.fx.Events[:0]
	if !s.rank.Cancel(s.row(t, td), &s.fx) {
		return "the rank does not have it"
	}
	return s.events() + s.state()
}

func (s *story) abandon(*testing.T, *datadriven.TestData) string {
	s.fx.Events = s.fx.Events[:0]
	s.rank.Abandon(&s.fx)
	return s.events()
}

// row is the number of the request that the command names.
func (s *story) row(t *testing.T, td *datadriven.TestData) int32 {
	i := slices.Index(s.names, td.CmdArgs[0].Key)
	if i < 0 {
		td.Fatalf(t, "nobody is called %s", td.CmdArgs[0].Key)
	}
	return int32(i)
}

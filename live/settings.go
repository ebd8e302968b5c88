package live

import (
	"net/url"
	"strings"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/workload"
)

// Auto leaves a choice to what the servers can do.
const Auto = "auto"

// What of the outputs has to be as recorded.
const (
	TokensExact  = "exact"  // every id
	TokensLength = "length" // how many there are
	TokensNone   = "none"   // nothing
)

// Which experts serve a token.
const (
	ExpertsExact  = "exact"  // the recorded ones, where they are known
	ExpertsNative = "native" // those that the model chooses
)

// What shares a part of the servers' prefix caches (spec/live.md A.4).
const (
	SaltTask = "task" // the calls of one copy of a task
	SaltRun  = "run"  // all calls of one repetition
	SaltNone = "none" // whatever has the same tokens
)

// What happens when a call cannot be sent as it was recorded, or fails.
const (
	Refuse   = "refuse"   // nothing is sent at all
	Reject   = "reject"   // the call ends as rejected, the others are sent
	Stop     = "stop"     // the rest of its task is not sent
	Continue = "continue" // the rest goes on with the recorded history
)

// Settings are all that a live run can be told. They stand in run.json; secrets are
// not among them. Zero values are not defaults; start from [Defaults].
type Settings struct {
	Targets []string `json:"targets"` // URLs
	Model   string   `json:"model,omitempty"`

	Tokens    string `json:"tokens"` // auto: the most that works
	Force     string `json:"force"`  // auto, or the name of a [force.Mode]
	Experts   string `json:"experts"`
	RoutesDir string `json:"routes_dir,omitempty"` // that the servers read experts from

	Tools        Pace              `json:"tools"`
	ToolCommands map[string]string `json:"tool_commands,omitempty"` // by name of the tool, "*" for all others
	Think        Pace              `json:"think"`                   // human and idle waits

	Arrival workload.Settings        `json:"arrival"`
	Process *arrival.ProcessSettings `json:"process,omitempty"` // replaces recorded times
	RampMs  float64                  `json:"ramp_ms,omitempty"`
	Limits  workload.Limits          `json:"limits"`

	Repetitions int    `json:"repetitions"`
	WarmupTasks int    `json:"warmup_tasks"`
	CacheSalt   string `json:"cache_salt"`
	Run         string `json:"run"` // in request ids and salts; must differ between runs
	Seed        int64  `json:"seed"`

	Router        routing.Settings `json:"router"`
	Priority      bool             `json:"priority"`                 // send the recorded ones
	DPRanks       int              `json:"dp_ranks,omitempty"`       // pin sessions to so many ranks; 0: do not
	SessionHeader string           `json:"session_header,omitempty"` // that gets the session; "": none

	Retries      int     `json:"retries"`        // of a call that brought no token
	RetryDelayMs float64 `json:"retry_delay_ms"` // before the first, doubled each time
	OnFailure    string  `json:"on_failure"`
	OnRefused    string  `json:"on_refused"`

	IgnoreGrammar bool    `json:"ignore_grammar"`
	Vocabulary    int     `json:"vocabulary,omitempty"` // 0: as the server says
	Stream        bool    `json:"stream"`
	StallMs       float64 `json:"stall_ms"`   // 0: no limit
	TimeoutMs     float64 `json:"timeout_ms"` // 0: no limit
	HTTP2         bool    `json:"http2"`
	ScrapeMs      float64 `json:"scrape_ms"` // between two looks at /metrics; 0: none

	SLA *metrics.SLA `json:"sla,omitempty"`
}

// Defaults are the defaults: the strongest forcing, recorded times and tools.
func Defaults() Settings {
	return Settings{
		Tokens: Auto, Force: Auto, Experts: ExpertsNative,
		Tools: Pace{Kind: PaceRecorded}, Think: Pace{Kind: PaceRecorded},
		Arrival: workload.Defaults(), Repetitions: 1, CacheSalt: SaltTask, Seed: 42,
		Router: routing.Defaults(), RetryDelayMs: 500, OnFailure: Stop, OnRefused: Refuse,
		Stream: true, StallMs: 300_000, ScrapeMs: 1000,
	}
}

// Validate says everything that is wrong, as setting errors.
func (s *Settings) Validate() error {
	var p setting.Problems
	p.Check(len(s.Targets) > 0, "target", "not given", "the URL of a server")
	for _, target := range s.Targets {
		u, err := url.Parse(target)
		p.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "", "target", target, "the URL of a server, such as http://localhost:8000")
	}
	oneOf(&p, "tokens", s.Tokens, Auto, TokensExact, TokensLength, TokensNone)
	oneOf(&p, "force", s.Force, append([]string{Auto}, force.Names()...)...)
	oneOf(&p, "experts", s.Experts, ExpertsNative, ExpertsExact)
	oneOf(&p, "cache-salt", s.CacheSalt, SaltTask, SaltRun, SaltNone)
	oneOf(&p, "on-failure", s.OnFailure, Stop, Continue)
	oneOf(&p, "on-refused", s.OnRefused, Refuse, Reject)
	p.Check(s.Experts != ExpertsExact || s.RoutesDir != "", "routes-dir", `""`, "the folder that the server reads experts from, with experts: exact")
	p.Under("tools", s.Tools.Validate(true))
	p.Under("think", s.Think.Validate(false))
	p.Check(s.Tools.Kind == PaceExecute || len(s.ToolCommands) == 0, "tool-command", "given", "nothing unless tools: execute")
	p.Check(s.Tools.Kind != PaceExecute || len(s.ToolCommands) > 0, "tool-command", "not given", "a command for each tool, with tools: execute")
	p.Under("arrival", s.Arrival.Validate())
	p.Under("limits", s.Limits.Validate())
	s.checkProcess(&p)
	p.Under("router", s.Router.Validate())
	p.Check(s.Repetitions >= 1, "repetitions", s.Repetitions, "at least 1")
	p.Check(s.Run != "" && len(s.Run) <= 64 && word(s.Run) == s.Run, "run-id", s.Run, "1 to 64 letters, digits, dots, dashes or underscores")
	for _, n := range []struct {
		field string
		value float64
	}{{"warmup", float64(s.WarmupTasks)}, {"retries", float64(s.Retries)}, {"retry-delay", s.RetryDelayMs}, {"dp-ranks", float64(s.DPRanks)},
		{"vocabulary", float64(s.Vocabulary)}, {"stall", s.StallMs}, {"timeout", s.TimeoutMs}, {"scrape", s.ScrapeMs}, {"ramp", s.RampMs}} {
		p.Check(n.value >= 0 && n.value <= maxSetting, n.field, n.value, "at least 0")
	}
	if s.SLA != nil {
		p.Under("sla", s.SLA.Validate())
	}
	return p.Err()
}

const maxSetting = 1e12 // keeps times inside what a duration holds

// checkProcess checks what replaces recorded times.
func (s *Settings) checkProcess(p *setting.Problems) {
	if s.RampMs > 0 {
		p.Check(s.Arrival.Mode == workload.ModeConcurrency, "ramp", s.RampMs, "0 unless a number of tasks is in flight (concurrency)")
	}
	if s.Process == nil {
		return
	}
	p.Under("arrival", s.Process.Validate())
	p.Check(s.Arrival.Mode == workload.ModeTrace, "arrival", s.Process.Process, "nothing beside concurrency")
	p.Check(s.Arrival.Speedup == 1, "speedup", s.Arrival.Speedup, "1 where arrivals are generated: their rate says how fast they come")
	p.Check(s.Arrival.Turns == workload.TurnsAfterPrevious, "turns", s.Arrival.Turns, "after_previous where arrivals are generated")
}

func oneOf(p *setting.Problems, field, value string, names ...string) {
	for _, name := range names {
		if value == name {
			return
		}
	}
	p.Check(false, field, value, "one of "+strings.Join(names, ", "))
}

// word is a text as it may stand in a header or a file name: what is neither letter,
// digit, dot, dash nor underscore becomes an underscore.
func word(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, text)
}

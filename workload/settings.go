package workload

import "github.com/reprise-sim/reprise/setting"

// Modes of arrival.
const (
	ModeTrace       = "trace"       // tasks start at their recorded times
	ModeConcurrency = "concurrency" // a fixed number of tasks is in flight
)

// Origins: the recorded moment that becomes time 0 of the run.
const (
	OriginFirst    = "first"    // the release of the first task
	OriginRecorded = "recorded" // the trace's own 0
)

// Turns: when a call that waits for others may start.
const (
	TurnsAfterPrevious = "after_previous" // when they have ended and its pause is over
	TurnsRecorded      = "recorded"       // at its recorded start, whatever the server does
)

// Settings are the keys of `arrival:` (DESIGN.md 6). Zero values are not defaults;
// start from [Defaults].
type Settings struct {
	Mode string `yaml:"mode" json:"mode" doc:"trace: tasks start at their recorded times; concurrency: a fixed number of tasks is in flight" enum:"trace,concurrency"`

	// Recorded times and pauses (edge delays, tool and think durations, not-before
	// times) are divided, the server is not made faster.
	Speedup float64 `yaml:"speedup" json:"speedup" doc:"mode trace: divides recorded times and every pause"`
	Origin  string  `yaml:"origin" json:"origin" doc:"mode trace: time 0 is the first task's (first) or the trace's own (recorded)" enum:"first,recorded"`
	Turns   string  `yaml:"turns" json:"turns" doc:"mode trace: later calls of a task start a pause after the end of those they wait for, or at their recorded starts whatever the server does" enum:"after_previous,recorded"`

	// A task keeps its slot from its start until its last node has ended, pauses
	// included. The calls of one task share it, also those that run side by side.
	Concurrency *int `yaml:"concurrency,omitempty" json:"concurrency,omitempty" doc:"mode concurrency: tasks in flight"`
	MaxInFlight *int `yaml:"max_in_flight,omitempty" json:"max_in_flight,omitempty" doc:"another name of concurrency"`
}

// Defaults are the defaults of DESIGN.md 6: recorded times, from the first task on.
func Defaults() Settings {
	return Settings{Mode: ModeTrace, Speedup: 1, Origin: OriginFirst, Turns: TurnsAfterPrevious}
}

// Validate reports every wrong setting as a [setting.Error]. A setting that would
// have no effect in the chosen mode is wrong too.
func (s Settings) Validate() error {
	var p setting.Problems
	switch s.Mode {
	case ModeTrace:
		s.checkTimes(&p)
	case ModeConcurrency:
		s.checkSlots(&p)
	default:
		p.Check(false, "mode", s.Mode, "one of trace, concurrency")
	}
	return p.Err()
}

// checkTimes checks the settings of mode trace. A cap beside them is refused: one
// of the two would be ignored.
func (s Settings) checkTimes(p *setting.Problems) {
	p.Check(s.Speedup > 0 && finite(s.Speedup), "speedup", s.Speedup, "a finite number above 0")
	p.Check(s.Origin == OriginFirst || s.Origin == OriginRecorded, "origin", s.Origin, "one of first, recorded")
	p.Check(s.Turns == TurnsAfterPrevious || s.Turns == TurnsRecorded, "turns", s.Turns, "one of after_previous, recorded")
	const want = "nothing with mode trace (recorded times); a cap needs mode concurrency"
	if s.Concurrency != nil {
		p.Check(false, "concurrency", *s.Concurrency, want)
	}
	if s.MaxInFlight != nil {
		p.Check(false, "max_in_flight", *s.MaxInFlight, want)
	}
}

// checkSlots checks the settings of mode concurrency.
func (s Settings) checkSlots(p *setting.Problems) {
	const want = "at least 1"
	if s.Concurrency != nil {
		p.Check(*s.Concurrency >= 1, "concurrency", *s.Concurrency, want)
	}
	if s.MaxInFlight != nil {
		p.Check(*s.MaxInFlight >= 1, "max_in_flight", *s.MaxInFlight, want)
		p.Check(s.Concurrency == nil, "max_in_flight", *s.MaxInFlight, "nothing beside concurrency, of which it is another name")
	}
	p.Check(s.Concurrency != nil || s.MaxInFlight != nil, "concurrency", "not set", "the number of tasks in flight, at least 1")

	const untimed = " with mode concurrency, which ignores recorded times and keeps pauses as they are"
	p.Check(s.Speedup == 1, "speedup", s.Speedup, "1"+untimed)
	p.Check(s.Origin == OriginFirst, "origin", s.Origin, "first"+untimed)
	p.Check(s.Turns == TurnsAfterPrevious, "turns", s.Turns, "after_previous"+untimed)
}

// slots is the number of tasks in flight; the settings are those of mode
// concurrency and right.
func (s Settings) slots() int {
	if s.Concurrency != nil {
		return *s.Concurrency
	}
	return *s.MaxInFlight
}

// Limits are the keys of `limits:` (DESIGN.md 6), which end a run early. 0 is a
// limit of 0.
type Limits struct {
	Requests *int `yaml:"requests" json:"requests" doc:"most calls released: the first ones in order of release; null: no limit"`
	// MaxSimTimeMs is kept by the loop that owns the clock (spec/replay.md 1.4); it
	// then calls [Driver.Stop].
	MaxSimTimeMs *float64 `yaml:"max_sim_time_ms" json:"max_sim_time_ms" doc:"last instant that is simulated, ms; null: no limit"`
}

// Validate reports every wrong setting as a [setting.Error].
func (l Limits) Validate() error {
	var p setting.Problems
	if l.Requests != nil {
		p.Check(*l.Requests >= 0, "requests", *l.Requests, "at least 0")
	}
	if l.MaxSimTimeMs != nil {
		p.Check(*l.MaxSimTimeMs >= 0 && finite(*l.MaxSimTimeMs), "max_sim_time_ms", *l.MaxSimTimeMs, "a finite number, at least 0")
	}
	return p.Err()
}

package live

import (
	"cmp"
	"slices"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/metrics/column"
	"github.com/reprise-sim/reprise/rundir"
)

// Fidelity is how much of the recording was repeated.
type Fidelity struct {
	Faithful   int `json:"calls_faithful"`
	Unfaithful int `json:"calls_unfaithful"`
	// Planned are the calls and output tokens of the trace that were to be sent, those
	// that never were included.
	PlannedCalls   int64 `json:"calls_planned"`
	PlannedTokens  int64 `json:"tokens_planned"`
	ForcedTokens   int64 `json:"tokens_forced"`   // received from calls whose ids were forced
	VerifiedTokens int64 `json:"tokens_verified"` // that came back with the recorded id
	// Of experts, choices are counted: positions × layers. Those that the recording
	// lacks are planned and not forced; those that the server does not say are not
	// verified.
	PlannedExperts  int64 `json:"experts_planned"`
	ForcedExperts   int64 `json:"experts_forced"`
	VerifiedExperts int64 `json:"experts_verified"`
	// First are the first calls that differ.
	First []Unfaithful `json:"unfaithful"`
}

// Unfaithful is a call that a server answered otherwise than recorded.
type Unfaithful struct {
	Request     string             `json:"request_id"`
	Line        int32              `json:"source_line"`
	Differences []force.Difference `json:"differences"`
}

// mostNamed bounds how many calls of a kind are named.
const mostNamed = 20

// judge counts a call that has completed.
func (v *Fidelity) judge(m force.Mode, f *flight, a *wire.Answer, d []force.Difference) rundir.Verdict {
	if m.Level() >= force.Tokens {
		v.ForcedTokens += int64(len(a.IDs))
		v.VerifiedTokens += int64(force.Verified(f.sheet.call, a))
	}
	if len(d) > 0 {
		v.Unfaithful++
		if len(v.First) < mostNamed {
			v.First = append(v.First, Unfaithful{f.n.ID, f.n.Line, d})
		}
		return rundir.Unfaithful
	}
	if m.Level() == force.Floating {
		return rundir.Unverified
	}
	v.Faithful++
	return rundir.Faithful
}

// Failures are the calls that did not complete, and the attempts made again.
type Failures struct {
	Calls   int                    `json:"calls"`
	Kinds   map[metrics.Reason]int `json:"kinds"`
	Retried int                    `json:"attempts_retried"`
	First   []Failure              `json:"first"`
}

// Failure is a call that failed.
type Failure struct {
	Request string         `json:"request_id"`
	Line    int32          `json:"source_line"`
	Kind    metrics.Reason `json:"kind"`
	Status  int            `json:"status,omitempty"` // of HTTP
	Detail  string         `json:"detail"`
}

// note counts a call that ended with a failure. What somebody interrupted is none.
func (v *Failures) note(f *flight, a *wire.Answer) {
	if a.Failure.Kind == metrics.Interrupted {
		return
	}
	v.Calls++
	if v.Kinds == nil {
		v.Kinds = map[metrics.Reason]int{}
	}
	v.Kinds[a.Failure.Kind]++
	if len(v.First) < mostNamed {
		v.First = append(v.First, Failure{f.n.ID, f.n.Line, a.Failure.Kind, a.Failure.Status, a.Failure.Detail})
	}
}

// Lag is how late calls were sent: from the instant at which each was due to its first
// attempt, in ms. If it is large, the client was too slow, and what it measured is
// worth less.
type Lag struct {
	N        int64  `json:"samples"`
	P50      number `json:"p50_ms"`
	P90      number `json:"p90_ms"`
	P99      number `json:"p99_ms"`
	Max      number `json:"max_ms"`
	Degraded bool   `json:"degraded"` // p99 above DegradedMs
}

// DegradedMs is the p99 of the lag above which a run counts as degraded.
const DegradedMs = 10

// lagOf describes lags, which it sorts.
func lagOf(lags []float64) Lag {
	slices.SortFunc(lags, cmp.Compare[float64])
	n := int64(len(lags))
	if n == 0 {
		return Lag{}
	}
	at := func(percent float64) number { return number(lags[column.Rank(n, percent)]) }
	l := Lag{N: n, P50: at(50), P90: at(90), P99: at(99), Max: number(lags[n-1])}
	l.Degraded = l.P99 > DegradedMs
	return l
}

package live

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/reprise-sim/reprise/metrics"
)

// Title is which pass over the trace goes on.
func (p *Progress) Title() string {
	switch {
	case p.Repetition == 0:
		return "warming up "
	case p.Repetitions > 1:
		return fmt.Sprintf("replaying %d of %d ", p.Repetition, p.Repetitions)
	}
	return "replaying "
}

// Plan says what will be done, in lines for people.
func (r *Replay) Plan() []string {
	s := &r.settings
	salt := map[string]string{SaltTask: "a cache salt for every copy of a task", SaltRun: "one cache salt for every repetition",
		SaltNone: "no cache salt: what the servers' caches hold is found"}[s.CacheSalt]
	return []string{fmt.Sprintf("forcing %s (%s); tools %s, waits %s; %s; run %s", r.level(), r.mode.Name(), s.Tools, s.Think, salt, s.Run)}
}

// WriteText writes a result for people: the table of the last repetition, whether each
// was faithful, and how much they vary.
func (r *Result) WriteText(w io.Writer) error {
	for i, one := range r.Repetitions {
		if i == len(r.Repetitions)-1 {
			if err := metrics.WriteTable(w, one.Summary); err != nil {
				return err
			}
		}
	}
	var b strings.Builder
	b.WriteByte('\n')
	for i, one := range r.Repetitions {
		name := ""
		if len(r.Repetitions) > 1 {
			name = fmt.Sprintf("repetition %d: ", i+1)
		}
		for _, line := range one.lines() {
			fmt.Fprintf(&b, "%s%s\n", name, line)
		}
	}
	if v := r.Variation(); v != nil {
		fmt.Fprintln(&b, v)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lines are what a live run has to say beside the figures of every run.
func (r *Repetition) lines() []string {
	v, lag := &r.Fidelity, &r.Lag
	lines := []string{fmt.Sprintf("tokens: %d forced and %d verified of %d planned; calls: %d faithful, %d unfaithful, %d failed of %d",
		v.ForcedTokens, v.VerifiedTokens, v.PlannedTokens, v.Faithful, v.Unfaithful, r.Failures.Calls, v.PlannedCalls)}
	if v.PlannedExperts > 0 {
		lines = append(lines, fmt.Sprintf("experts: %d choices forced and %d verified of %d planned", v.ForcedExperts, v.VerifiedExperts, v.PlannedExperts))
	}
	if lag.N > 0 {
		line := fmt.Sprintf("lag of sending: p50 %.2f, p90 %.2f, p99 %.2f, most %.2f ms", float64(lag.P50), float64(lag.P90), float64(lag.P99), float64(lag.Max))
		if lag.Degraded {
			line += fmt.Sprintf(": degraded, p99 is above %d ms: this machine was too slow", DegradedMs)
		}
		lines = append(lines, line)
	}
	for _, u := range v.First {
		for _, d := range u.Differences {
			lines = append(lines, fmt.Sprintf("unfaithful: line %d, call %s: %s", u.Line, u.Request, d))
		}
	}
	for _, f := range r.Failures.First {
		line := fmt.Sprintf("failed: line %d, call %s: %s: ", f.Line, f.Request, f.Kind)
		if f.Status > 0 {
			line += fmt.Sprintf("%d: ", f.Status)
		}
		lines = append(lines, line+f.Detail)
	}
	return lines
}

// Variation is how much repetitions differ (spec/live.md F.4): the coefficient of
// variation, standard deviation over mean, of the figures of each task that was
// complete in all of them, averaged over these tasks.
type Variation struct {
	Repetitions  int    `json:"repetitions"`
	Tasks        int    `json:"tasks"`
	ModelTime    number `json:"cv_model_time"`
	Cumulative   number `json:"cv_cumulative_time"`
	Makespan     number `json:"cv_makespan"`
	OutputTokens number `json:"cv_output_tokens"`
}

func (v *Variation) String() string {
	return fmt.Sprintf("variation over %d repetitions of %d tasks: model time %.2f %%, with tools %.2f %%, makespan %.2f %%, output tokens %.2f %%",
		v.Repetitions, v.Tasks, 100*v.ModelTime, 100*v.Cumulative, 100*v.Makespan, 100*v.OutputTokens)
}

// Variation is nil for a single repetition.
func (r *Result) Variation() *Variation {
	n := len(r.Repetitions)
	if n < 2 {
		return nil
	}
	runs := map[string][]*Task{}
	for _, one := range r.Repetitions {
		for _, t := range one.Tasks {
			if t.Complete {
				runs[t.ID] = append(runs[t.ID], t)
			}
		}
	}
	v := &Variation{Repetitions: n}
	var sums [4]float64
	for _, t := range r.Repetitions[0].Tasks { // in order, so that sums are the same every time
		of := runs[t.ID]
		if len(of) != n {
			continue
		}
		v.Tasks++
		for i, figure := range []func(*Task) float64{
			func(t *Task) float64 { return t.ModelMs }, (*Task).CumulativeMs, (*Task).MakespanMs,
			func(t *Task) float64 { return float64(t.OutputTokens) },
		} {
			sums[i] += variation(of, figure)
		}
	}
	mean := func(i int) number { return number(sums[i] / float64(v.Tasks)) }
	v.ModelTime, v.Cumulative, v.Makespan, v.OutputTokens = mean(0), mean(1), mean(2), mean(3)
	return v
}

// variation is the population standard deviation of a figure over its mean, 0 where
// that is 0.
func variation(tasks []*Task, figure func(*Task) float64) float64 {
	n := float64(len(tasks))
	mean, squares := 0.0, 0.0
	for _, t := range tasks {
		mean += figure(t) / n
	}
	if mean == 0 {
		return 0
	}
	for _, t := range tasks {
		d := figure(t) - mean
		squares += float64(d * d)
	}
	return math.Sqrt(squares/n) / mean
}

// MarshalJSON writes a result for programs.
func (r *Result) MarshalJSON() ([]byte, error) {
	type repetition struct {
		Faithful bool             `json:"faithful"`
		Summary  *metrics.Summary `json:"summary"`
		Fidelity Fidelity         `json:"fidelity"`
		Failures Failures         `json:"failures"`
		Lag      Lag              `json:"lag"`
		Dir      string           `json:"dir,omitempty"`
	}
	out := struct {
		Faithful    bool         `json:"faithful"`
		Interrupted bool         `json:"interrupted"`
		Repetitions []repetition `json:"repetitions"`
		Variation   *Variation   `json:"variation"`
	}{Faithful: r.Faithful(), Interrupted: r.Interrupted, Repetitions: []repetition{}, Variation: r.Variation()}
	for _, one := range r.Repetitions {
		out.Repetitions = append(out.Repetitions, repetition{one.Faithful(), one.Summary, one.Fidelity, one.Failures, one.Lag, one.Dir})
	}
	return json.Marshal(out)
}

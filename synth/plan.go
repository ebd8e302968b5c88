package synth

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/arrival"
)

// plan is all that is random about a task.
type plan struct {
	releaseMs float64
	group     uint64
	turns     []turn
}

// turn is one call: the tokens it adds to the prompt, those it generates, the pause
// before it in ms and the length of the whole prompt.
type turn struct {
	input, output int32
	thinkMs       float64
	prompt        int64
}

// planner draws plans, one after the other. Each kind of number has a stream of its
// own (see [arrival.NewRand]): longer answers move no arrival.
type planner struct {
	spec     Spec
	policies policies
	times    *arrival.Times

	group, input, turnInput, output, turns, think *arrival.Rand
}

func newPlanner(s Spec, p policies) *planner {
	stream := func(purpose string) *arrival.Rand { return arrival.NewRand(s.Seed, "synth."+purpose) }
	return &planner{
		spec:      s,
		policies:  p,
		times:     arrival.NewTimes(p.arrival, stream("arrival")),
		group:     stream("group"),
		input:     stream("input"),
		turnInput: stream("turn_input"),
		output:    stream("output"),
		turns:     stream("turns"),
		think:     stream("think"),
	}
}

// next draws the plan of the next task into p, whose storage it reuses.
func (d *planner) next(p *plan) {
	p.releaseMs = d.times.Next()
	if d.spec.PrefixGroups > 0 {
		p.group = d.group.Below(uint64(d.spec.PrefixGroups))
	}
	first := turn{
		input:  arrival.Tokens(d.policies.input.Draw(d.input)),
		output: arrival.Tokens(d.policies.output.Draw(d.output)),
	}
	first.prompt = int64(d.spec.SystemPrefixTokens) + int64(first.input)
	p.turns = append(p.turns[:0], first)
	for range min(arrival.Tokens(d.policies.turns.Draw(d.turns)), maxTurns+1) - 1 {
		p.turns = append(p.turns, d.later(p.turns[len(p.turns)-1]))
	}
}

// later draws the turn behind another one.
func (d *planner) later(before turn) turn {
	t := turn{
		input:   arrival.Tokens(d.policies.turnInput.Draw(d.turnInput)),
		output:  arrival.Tokens(d.policies.output.Draw(d.output)),
		thinkMs: arrival.Pause(d.policies.think.Draw(d.think)),
	}
	t.prompt = before.prompt + int64(t.input)
	if d.spec.KeepOutput {
		t.prompt += int64(before.output)
	}
	return t
}

// maxTurns is how many calls a task may have.
const maxTurns = 1_000_000

// latestMs is the last arrival whose whole µs a double can tell apart.
const latestMs = (1 << 53) / 1000

// check refuses a plan that a trace cannot hold.
func (p *plan) check() error {
	if p.releaseMs > latestMs {
		return fmt.Errorf("arrival at %v ms: want at most %d", p.releaseMs, int64(latestMs))
	}
	if len(p.turns) > maxTurns {
		return fmt.Errorf("turns: more than %d: want no more", maxTurns)
	}
	for i, t := range p.turns {
		if t.thinkMs > latestMs {
			return fmt.Errorf("turn %d, pause: %v ms: want at most %d", i, t.thinkMs, int64(latestMs))
		}
		if all := t.prompt + int64(t.output); all > math.MaxInt32 {
			return fmt.Errorf("turn %d, prompt and output: %d tokens: want at most %d", i, all, math.MaxInt32)
		}
	}
	return nil
}

package fit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/reprise-sim/reprise/latency"
)

// Logged is a pass of a log: what it computed and when it ran.
type Logged struct {
	Pass           latency.Pass
	StartMs, EndMs float64
}

// Ms is how long the pass took.
func (l *Logged) Ms() float64 { return l.EndMs - l.StartMs }

// line is a line of passes.jsonl; docs/outputs.md explains the fields.
type line struct {
	Start   *int64     `json:"t_start_ns"`
	End     *int64     `json:"t_end_ns"`
	Prefill [][2]int64 `json:"prefill"` // new tokens, tokens before them
	Decodes int64      `json:"decode_reqs"`
	Context int64      `json:"decode_ctx_sum"` // the new tokens included
}

// maxLine is the longest line of a pass log, in bytes.
const maxLine = 1 << 22

// ReadPassLog reads passes, one JSON object a line; fields that a price does not
// depend on may be missing. The file's name is for errors.
func ReadPassLog(file string, r io.Reader) ([]Logged, error) {
	var list []Logged
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		logged, err := l.logged()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		list = append(list, logged)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// logged checks a line.
func (l *line) logged() (Logged, error) {
	if l.Start == nil || l.End == nil || *l.End < *l.Start {
		return Logged{}, fmt.Errorf("t_start_ns, t_end_ns: want two times in order")
	}
	const most = 1 << 40 // tokens; keeps products inside int64
	if l.Decodes < 0 || l.Context < l.Decodes || l.Context > most {
		return Logged{}, fmt.Errorf("decode_reqs %d, decode_ctx_sum %d: want at least a token of context for each", l.Decodes, l.Context)
	}
	p := latency.Pass{DecodeSeqs: l.Decodes, DecodeNew: l.Decodes, DecodeContext: l.Context, Sampled: l.Decodes}
	for _, c := range l.Prefill {
		if c[0] < 1 || c[1] < 0 || c[0] > 1<<24 || c[1] > 1<<30 {
			return Logged{}, fmt.Errorf("prefill %v: want [new tokens, tokens before them]", c)
		}
		p.AddPrefill(c[0], c[1])
		p.Sampled++
	}
	return Logged{Pass: p, StartMs: float64(*l.Start) / 1e6, EndMs: float64(*l.End) / 1e6}, nil
}

// Dropped counts passes that say nothing about the cost of passes, by why they were
// left out.
type Dropped struct {
	WarmUp  int `json:"warm_up"` // the first ones
	Stalled int `json:"stalled"` // ten times as long as those around them
	Empty   int `json:"empty"`   // computed nothing, or took no time
	Crowded int `json:"crowded"` // more of one kind than needed
}

// warmUp is how many passes at the beginning do not count.
const warmUp = 5

// Clean leaves out passes that say nothing (spec/latency.md 4.4, steps 1 and 2): the
// first ones, stalls, and of each kind (with prompts or without, tokens and context to
// a factor of two) all beyond most, evenly.
func Clean(log []Logged, most int) (kept []Logged, d Dropped) {
	d.WarmUp = min(warmUp, len(log))
	log = log[d.WarmUp:]
	var useful []Logged
	for i := range log {
		l := &log[i]
		switch {
		case l.Ms() <= 0 || l.Pass.PrefillNew+l.Pass.DecodeNew == 0:
			d.Empty++
		case l.Ms() > 10*around(log, i):
			d.Stalled++
		default:
			useful = append(useful, *l)
		}
	}
	kept = thin(useful, most)
	d.Crowded = len(useful) - len(kept)
	return kept, d
}

// around is the median of the passes next to one.
func around(log []Logged, i int) float64 {
	const reach = 5
	var list []float64
	for j := max(0, i-reach); j <= min(len(log)-1, i+reach); j++ {
		if j != i {
			list = append(list, log[j].Ms())
		}
	}
	if list == nil {
		return log[i].Ms()
	}
	return Median(list)
}

// bucket is a kind of pass.
type bucket struct {
	prefill         bool
	tokens, context int
}

// thin keeps at most so many passes of each kind, in their order.
func thin(log []Logged, most int) []Logged {
	kindOf := func(l *Logged) bucket {
		p := &l.Pass
		return bucket{p.PrefillNew > 0, octave(p.PrefillNew + p.DecodeNew), octave(p.DecodeContext + p.PrefillBefore)}
	}
	count, seen := map[bucket]int{}, map[bucket]int{}
	for i := range log {
		count[kindOf(&log[i])]++
	}
	return slices.DeleteFunc(slices.Clone(log), func(l Logged) bool {
		k := kindOf(&l)
		i := seen[k]
		seen[k]++
		return i*most/count[k] == (i-1)*most/count[k] && count[k] > most && i > 0
	})
}

// octave is the number of binary digits.
func octave(n int64) int {
	digits := 0
	for ; n > 0; n /= 2 {
		digits++
	}
	return digits
}
